"""Loads the user's own planners and embedders that the settings name.

A name is that of an entry point, in the group `orchestrator.planners` or `orchestrator.embedders`
of an installed package, or the location itself, as `module:factory`. Either identifies a factory:
called with one argument, it returns the planner or the embedder.
"""

import os
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from orchestrator.adapters.embedding.built_in import BUILT_IN, NO_EMBEDDER
from orchestrator.adapters.embedding.embedders import LOCAL, make_embedder
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import OrchestratorError, UsageError
from orchestrator.planning.models import CHAINING, LLM, AgentProfile
from orchestrator.planning.planner import Planner, StepPlanner
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.settings import Settings

_OURS = f"{BUILT_IN}, {NO_EMBEDDER}, local:MODEL, https://HOST/v1#MODEL, "
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
    """Return the embedder of a setting: one of ours (`local:...`, `https://...`) or the user's own.

    Raises:
        UsageError: no embedder has that name, it cannot be loaded, or it is no embedder.
    """
    if named.startswith(LOCAL) or "://" in named:
        return make_embedder(named, EnvironmentSecrets())
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
