"""The file of agent profiles, checked against the catalog and the models that can be asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ProfilesInvalid
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.profile_faults import ProfileFault, catalog_faults, read_profiles
from orchestrator.settings import Settings, read_profiles_file

LLM_EXTRA = "pip install 'orchestrator-missions[llm]'"


@dataclass(frozen=True)
class ExaminedProfiles:
    """The profiles of a file that can be read, and what is wrong with them."""

    profiles: tuple[AgentProfile, ...]
    faults: tuple[ProfileFault, ...]


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
    faults += catalog_faults(profiles, catalog)
    if not own_planner:
        faults += tuple(_model_faults(profiles))
    return ExaminedProfiles(profiles, faults)


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


def _model_faults(profiles: Iterable[AgentProfile]) -> Iterator[ProfileFault]:
    for profile in profiles:
        if profile.model is None:
            continue
        try:
            from orchestrator.planning.llm.model_names import model_problem
        except ImportError:
            problem: tuple[str, str] | None = (
                "planning with a model needs the llm extra",
                LLM_EXTRA,
            )
        else:
            problem = model_problem(profile.model)
        if problem is not None:
            said, remedy = problem
            yield ProfileFault(agent=profile.name, key="model", problem=said, remedy=remedy)
