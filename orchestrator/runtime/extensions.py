"""Loads the user's own planners and embedders that the settings name.

A name is that of an entry point, in the group `orchestrator.planners` or `orchestrator.embedders`
of an installed package, or the location itself, as `module:factory`. Either identifies a factory:
called with one argument, it returns the planner or the embedder.
"""

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from orchestrator.adapters.embedding.built_in import BUILT_IN, NO_EMBEDDER
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import OrchestratorError, UsageError
from orchestrator.planning.models import CHAINING, LLM, AgentProfile
from orchestrator.planning.per_agent import own_planners
from orchestrator.planning.planner import Planner, StepPlanner
from orchestrator.planning.profile_faults import ProfileFault, catalog_faults, read_profiles
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.settings import Settings, profiles_invalid, read_profiles_file

_OURS = f"{BUILT_IN}, {NO_EMBEDDER}, "
_PLACE = re.compile(r"[\w.]+:[\w.]+")


@dataclass(frozen=True)
class PlannerParts:
    """The argument of a planner's factory."""

    settings: Settings
    agents: tuple[AgentProfile, ...]
    routers: Callable[[Catalog], Router]
    default: Planner
    """The planner that the settings otherwise imply, to which the planner may delegate."""


def load_planner(named: str, parts: PlannerParts) -> Planner:
    """Return the planner that a setting names.

    Raises:
        UsageError: no planner has that name, it cannot be loaded, or it is no planner.
    """
    return cast(Planner, _loaded("planner", Planner, named, parts))


def load_leg_planner(named: str, parts: PlannerParts) -> StepPlanner:
    """Return an agent's own planner, which decides the steps of its legs and splits no goal.

    Raises:
        UsageError: no planner has that name, it cannot be loaded, or it decides no steps.
    """
    place, made = _made("planner", named, parts)
    _check(f"{place} gives", "planner of steps", StepPlanner, made)
    return cast(StepPlanner, made)


def planner_problem(named: str) -> str | None:
    """Return why no planner factory has this name, without calling any."""
    try:
        _factory("planner", named)
    except UsageError as error:
        return str(error)
    return None


def load_embedder(named: str, settings: Settings) -> Embedder:
    """Return the user's own embedder that a setting names.

    Raises:
        UsageError: no embedder has that name, it cannot be loaded, or it is no embedder.
    """
    return cast(Embedder, _loaded("embedder", Embedder, named, settings))


def check_given(planner: Planner | None, embedder: Embedder | None) -> None:
    """Refuse invalid objects before a worker polls with them.

    Raises:
        UsageError: one of them has missing members of its protocol, or is a class.
    """
    if planner is not None:
        _check("run_worker is given", "planner", Planner, planner)
    if embedder is not None:
        _check("run_worker is given", "embedder", Embedder, embedder)


def _loaded(kind: str, protocol: type, named: str, argument: object) -> object:
    place, made = _made(kind, named, argument)
    _check(f"{place} gives", kind, protocol, made)
    return made


def _factory(kind: str, named: str) -> tuple[str, Callable[[Any], Any]]:
    place = _place_of(kind, named)
    try:
        factory = place.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the {kind} {place.value} cannot be loaded: {error}") from error
    except Exception as error:  # a module may raise anything while it is imported
        raise UsageError(
            f"the {kind} {place.value} cannot be loaded: {_one_line(error)}"
        ) from error
    if not callable(factory):
        raise UsageError(f"{place.value} is no factory of a {kind}: it cannot be called")
    return place.value, factory


def _made(kind: str, named: str, argument: object) -> tuple[str, object]:
    """Return the factory's location, and its result for the argument.

    Raises:
        UsageError: nothing has that name, or the factory fails.
    """
    place, factory = _factory(kind, named)
    try:
        return place, factory(argument)
    except OrchestratorError:
        raise
    except Exception as error:  # a factory may raise anything too
        raise UsageError(f"{place} gives no {kind}: {_one_line(error)}") from error


def _check(given: str, kind: str, protocol: type, made: object) -> None:
    if isinstance(made, type):
        raise UsageError(f"{given} the class {made.__name__!r}, not one made of it")
    named = (name for one in protocol.__mro__ for name in vars(one) if name[0] != "_")
    missing = [name for name in named if not hasattr(made, name)]
    if missing:
        raise UsageError(
            f"{given} {type(made).__name__!r}, which is no {kind}: "
            f"it has no {' and no '.join(missing)}"
        )


def _one_line(error: Exception) -> str:
    """Return an error of the user's code in one line, with the line of that code that raised it."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    raised_in = traceback.extract_tb(error.__traceback__)[-1]
    if raised_in.filename == __file__ or raised_in.filename.startswith("<frozen"):
        return text
    return f"{text} ({raised_in.filename}, line {raised_in.lineno})"


def _place_of(kind: str, named: str) -> EntryPoint:
    group = f"orchestrator.{kind}s"
    entries = entry_points(group=group)
    places = sorted({entry.value for entry in entries.select(name=named)})
    if len(places) > 1:
        raise UsageError(f"several packages have a {kind} {named!r}: name {' or '.join(places)}")
    if places:
        return EntryPoint(named, places[0], group)
    if not _PLACE.fullmatch(named):
        ours = _OURS if kind == "embedder" else f"{CHAINING}, {LLM}, "
        raise UsageError(
            f"{named!r} is no {kind}: name {ours}module:factory, or one that is installed "
            f"({', '.join(sorted(entries.names)) or 'none is'})"
        )
    # An installed command has its own file's folder on the path, not the current one.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return EntryPoint(named, named, group)


LLM_EXTRA = "pip install 'orchestrator-missions[llm]'"


@dataclass(frozen=True)
class ExaminedProfiles:
    """The readable profiles of a file, and the faults found in it."""

    profiles: tuple[AgentProfile, ...]
    faults: tuple[ProfileFault, ...]
    missing: tuple[ProfileFault, ...] = ()
    """Models that are not set up here, which is no fault of the file."""


def examine_profiles(path: Path, catalog: Catalog, *, own_planner: bool) -> ExaminedProfiles:
    """Read a file of profiles and check all of it.

    Args:
        path: YAML or JSON.
        catalog: the domains and tools that profiles may name.
        own_planner: True if the user's own planner plans, which may call any model.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
    """
    profiles, faults = read_profiles(read_profiles_file(path))
    # A name missing in the catalog may come from an unreadable file, which is reported separately.
    faults += () if catalog.unread else catalog_faults(profiles, catalog)
    faults += tuple(_planner_faults(profiles))
    if own_planner:
        return ExaminedProfiles(profiles, faults)
    faults += tuple(_model_faults(profiles))
    return ExaminedProfiles(profiles, faults, () if faults else tuple(_not_set_up(profiles)))


def load_profiles(
    settings: Settings, catalog: Catalog, *, own_planner: bool = False
) -> tuple[AgentProfile, ...]:
    """Return the profiles of the settings' file; none if there is no file.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
        UsageError: the file contains invalid values.
    """
    if settings.agents is None:
        return ()
    own = own_planner or settings.planner is not None
    examined = examine_profiles(settings.agents, catalog, own_planner=own)
    if examined.faults:
        raise profiles_invalid(settings.agents, examined.faults)
    return examined.profiles


def _planner_faults(profiles: Iterable[AgentProfile]) -> Iterator[ProfileFault]:
    for profile in profiles:
        for named in own_planners([profile]):
            if (problem := planner_problem(named)) is not None:
                remedy = "its worker imports it: see docs/planning.md"
                yield _fault(profile, "planner", problem, remedy)


def _models(profiles: Iterable[AgentProfile]) -> Iterator[tuple[AgentProfile, str, str]]:
    for profile in profiles:
        if profile.model is not None:
            yield profile, "model", profile.model
        for number, name in enumerate(profile.fallback):
            yield profile, f"fallback.{number}", name


def _model_faults(profiles: Iterable[AgentProfile]) -> Iterator[ProfileFault]:
    for profile, key, name in _models(profiles):
        try:
            from orchestrator.planning.llm.model_providers import model_problem
        except ImportError:
            yield _fault(profile, key, "planning with a model needs the llm extra", LLM_EXTRA)
        else:
            if (problem := model_problem(name)) is not None:
                yield _fault(profile, key, *problem)


def _not_set_up(profiles: Iterable[AgentProfile]) -> Iterator[ProfileFault]:
    """Yield valid models that cannot be called from here: their worker has their key."""
    for profile, key, name in _models(profiles):
        from orchestrator.planning.llm.model_providers import missing_for

        if (missing := missing_for(name)) is not None:
            yield _fault(profile, key, f"{name} cannot be asked from here", missing)


def _fault(profile: AgentProfile, key: str, problem: str, remedy: str) -> ProfileFault:
    return ProfileFault(agent=profile.name, key=key, problem=problem, remedy=remedy)
