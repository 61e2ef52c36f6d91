"""The file of agent profiles, checked against the catalog and the models that can be asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ProfilesInvalid
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.per_agent import own_planners
from orchestrator.planning.profile_faults import ProfileFault, catalog_faults, read_profiles
from orchestrator.runtime.extensions import planner_problem
from orchestrator.settings import Settings, read_profiles_file

LLM_EXTRA = "pip install 'orchestrator-missions[llm]'"


@dataclass(frozen=True)
class ExaminedProfiles:
    """The profiles of a file that can be read, and what is wrong with them."""

    profiles: tuple[AgentProfile, ...]
    faults: tuple[ProfileFault, ...]
    missing: tuple[ProfileFault, ...] = ()
    """What a worker would need besides, and is not set up here: no fault of the file."""


def examine_profiles(path: Path, catalog: Catalog, *, own_planner: bool) -> ExaminedProfiles:
    """Read a file of profiles and check all of it.

    Args:
        path: YAML or JSON.
        catalog: whose domains and tools they may name.
        own_planner: whether a planner of the user's own plans, which may call models as it likes.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
    """
    profiles, faults = read_profiles(read_profiles_file(path))
    # What a catalog lacks may be in a file that cannot be read now, of which it is told apart.
    faults += () if catalog.unread else catalog_faults(profiles, catalog)
    faults += tuple(_planner_faults(profiles))
    if own_planner:
        return ExaminedProfiles(profiles, faults)
    faults += tuple(_model_faults(profiles))
    return ExaminedProfiles(profiles, faults, () if faults else tuple(_not_set_up(profiles)))


def load_profiles(
    settings: Settings, catalog: Catalog, *, own_planner: bool = False
) -> tuple[AgentProfile, ...]:
    """The profiles of the settings' file; none when there is no file.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
        ProfilesInvalid: it says what cannot be.
    """
    if settings.agents is None:
        return ()
    own = own_planner or settings.planner is not None
    examined = examine_profiles(settings.agents, catalog, own_planner=own)
    if examined.faults:
        raise ProfilesInvalid(str(settings.agents), tuple(map(str, examined.faults)))
    return examined.profiles


def _planner_faults(profiles: Iterable[AgentProfile]) -> Iterator[ProfileFault]:
    for profile in profiles:
        for named in own_planners([profile]):
            if (problem := planner_problem(named)) is not None:
                remedy = "its worker imports it: see docs/models.md"
                yield _fault(profile, "planner", problem, remedy)


def _models(profiles: Iterable[AgentProfile]) -> Iterator[tuple[AgentProfile, str, str]]:
    """Each model that a profile names, with its key there."""
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
    """Models that can be, and cannot be asked from here: their key is where their worker runs."""
    for profile, key, name in _models(profiles):
        from orchestrator.planning.llm.model_providers import missing_for

        if (missing := missing_for(name)) is not None:
            yield _fault(profile, key, f"{name} cannot be asked from here", missing)


def _fault(profile: AgentProfile, key: str, problem: str, remedy: str) -> ProfileFault:
    return ProfileFault(agent=profile.name, key=key, problem=problem, remedy=remedy)
