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
    """Return the planner that a setting names."""
    return cast(Planner, _made("planner", "planner", Planner, named, parts))


def load_leg_planner(named: str, parts: PlannerParts) -> StepPlanner:
    """Return an agent's own planner, which decides the steps of its legs and splits no goal."""
    return cast(StepPlanner, _made("planner", "planner of steps", StepPlanner, named, parts))


def load_embedder(named: str, settings: Settings) -> Embedder:
    """Return the user's own embedder that a setting names."""
    return cast(Embedder, _made("embedder", "embedder", Embedder, named, settings))


def check_given(planner: Planner | None, embedder: Embedder | None) -> None:
    """Refuse invalid objects before a worker polls with them."""
    if planner is not None:
        _check("run_worker is given", "planner", Planner, planner)
    if embedder is not None:
        _check("run_worker is given", "embedder", Embedder, embedder)


def _made(kind: str, noun: str, protocol: type, named: str, argument: object) -> object:
    """Return what the factory of this name makes of the argument.

    Raises:
        UsageError: nothing has that name, the factory fails, or its result is no such object.
    """
    place, factory = _factory(kind, named)
    try:
        made = factory(argument)
    except OrchestratorError:
        raise
    except Exception as error:  # a factory may raise anything too
        raise UsageError(f"{place} gives no {kind}: {_one_line(error)}") from error
    _check(f"{place} gives", noun, protocol, made)
    return made


def _factory(kind: str, named: str) -> tuple[str, Callable[[Any], Any]]:
    group = f"orchestrator.{kind}s"
    entries = entry_points(group=group)
    places = sorted({entry.value for entry in entries.select(name=named)}) or [named]
    if len(places) > 1:
        raise UsageError(f"several packages have a {kind} {named!r}: name {' or '.join(places)}")
    if places == [named] and not _PLACE.fullmatch(named):
        ours = _OURS if kind == "embedder" else f"{CHAINING}, {LLM}, "
        raise UsageError(
            f"{named!r} is no {kind}: name {ours}module:factory, or one that is installed "
            f"({', '.join(sorted(entries.names)) or 'none is'})"
        )
    # An installed command has its own file's folder on the path, not the current one.
    if places == [named] and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    place = EntryPoint(named, places[0], group)
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


LLM_EXTRA = "pip install 'orchestrator-missions[llm]'"


@dataclass(frozen=True)
class ExaminedProfiles:
    """The readable profiles of a file, and the faults found in it."""

    profiles: tuple[AgentProfile, ...]
    faults: tuple[ProfileFault, ...]
    missing: tuple[ProfileFault, ...] = ()
    """Models that are not set up here, which is no fault of the file."""


def examine_profiles(path: Path, catalog: Catalog, *, own_planner: bool) -> ExaminedProfiles:
    """Read a file of profiles and check all of it; the user's own planner may call any model.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
    """
    profiles, faults = read_profiles(read_profiles_file(path))
    # A name missing in the catalog may come from an unreadable file, which is reported separately.
    faults += () if catalog.unread else catalog_faults(profiles, catalog)
    for profile in profiles:
        for named in own_planners([profile]):
            try:
                _factory("planner", named)  # no planner is made
            except UsageError as error:
                imports = "its worker imports it: see docs/planning.md"
                faults += (_fault(profile, "planner", str(error), imports),)
    if own_planner:
        return ExaminedProfiles(profiles, faults)
    models = list(_models(profiles))
    for profile, key, name in models:
        try:
            from orchestrator.planning.llm.model_providers import model_problem
        except ImportError:
            missing = "planning with a model needs the llm extra"
            faults += (_fault(profile, key, missing, LLM_EXTRA),)
        else:
            if (problem := model_problem(name)) is not None:
                faults += (_fault(profile, key, *problem),)
    if faults or not models:
        return ExaminedProfiles(profiles, faults)
    from orchestrator.planning.llm.model_providers import missing_for

    # Valid models that cannot be called from here: their worker has their key.
    not_set_up = tuple(
        _fault(profile, key, f"{name} cannot be asked from here", remedy)
        for profile, key, name in models
        if (remedy := missing_for(name)) is not None
    )
    return ExaminedProfiles(profiles, (), not_set_up)


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


def _models(profiles: Iterable[AgentProfile]) -> Iterator[tuple[AgentProfile, str, str]]:
    for profile in profiles:
        if profile.model is not None:
            yield profile, "model", profile.model
        for number, name in enumerate(profile.fallback):
            yield profile, f"fallback.{number}", name


def _fault(profile: AgentProfile, key: str, problem: str, remedy: str) -> ProfileFault:
    return ProfileFault(agent=profile.name, key=key, problem=problem, remedy=remedy)
