"""Reads the file of agent profiles, checked against the catalog and the available models."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.per_agent import own_planners
from orchestrator.planning.profile_faults import ProfileFault, catalog_faults, read_profiles
from orchestrator.runtime.extensions import planner_problem
from orchestrator.settings import Settings, profiles_invalid, read_profiles_file

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
