"""What is wrong with agent profiles as they are written."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pydantic import ValidationError
from rapidfuzz import fuzz, process

from orchestrator.core.limits import Limits
from orchestrator.core.record import Record
from orchestrator.planning.models import ANYBODY, CHAINING, AgentProfile

_NEAR: Final = 3
_NEAR_ENOUGH: Final = 70
_WRITE: Final = {
    "tuple_type": "write a list: [one, another]",
    "string_type": "write a text",
    "missing": "every profile needs one",
}
"""What helps against the commonest faults of form."""


class ProfileFault(Record):
    """One fault of one agent's profile."""

    agent: str
    key: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"agent {self.agent}: {self.key}: {self.problem}; {self.remedy}"


def read_profiles(
    written: Sequence[Any],
) -> tuple[tuple[AgentProfile, ...], tuple[ProfileFault, ...]]:
    """The profiles of a list that a file held, and what is wrong with how they are written."""
    profiles: list[AgentProfile] = []
    faults: list[ProfileFault] = []
    for number, entry in enumerate(written, start=1):
        try:
            profiles.append(AgentProfile.model_validate(entry, extra="forbid"))
        except ValidationError as error:
            called = _called(entry, number)
            faults += (_fault_of_form(called, fault) for fault in error.errors())
    faults += _name_faults(written)
    names = [profile.name for profile in profiles]
    for profile in profiles:
        faults += (*_lists_nothing(profile), *_never_asked(profile))
        faults += _hands_over_to_nobody(profile, names)
    return tuple(profiles), tuple(faults)


def _fault_of_form(agent: str, fault: Any) -> ProfileFault:
    """What pydantic found, as a fault of the profile."""
    place = ".".join(str(part) for part in fault["loc"])
    if not place:
        return ProfileFault(
            agent=agent, key="profile", problem="it is no mapping", remedy="write `name: ...`"
        )
    if fault["type"] == "extra_forbidden":
        is_limit = place.startswith("limits.")
        keys = tuple((Limits if is_limit else AgentProfile).model_fields)
        holder = "limits are" if is_limit else "a profile has"
        remedy = meant(place.rpartition(".")[2], keys) or f"{holder} {', '.join(keys)}"
        return ProfileFault(agent=agent, key=place, problem="there is no such key", remedy=remedy)
    remedy = _WRITE.get(fault["type"], "see docs/extending.md")
    return ProfileFault(agent=agent, key=place, problem=fault["msg"], remedy=remedy)


def _hands_over_to_nobody(profile: AgentProfile, names: Sequence[str]) -> Iterator[ProfileFault]:
    """The agents to which a profile hands parts over, and that there are none of."""
    for name in profile.hands_over_to:
        if name == profile.name or name not in (*names, ANYBODY):
            others = tuple(one for one in names if one != profile.name)
            yield ProfileFault(
                agent=profile.name,
                key="hands_over_to",
                problem=f"there is no other agent {name!r}",
                remedy=meant(name, others) or f"there are: {', '.join(others) or 'none'}",
            )


def _name_of(entry: Any) -> str | None:
    """What a profile is called, whatever else is wrong with it."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _called(entry: Any, number: int) -> str:
    """How a fault names a profile."""
    return (_name_of(entry) or "").strip() or f"number {number}"


def _name_faults(written: Sequence[Any]) -> Iterator[ProfileFault]:
    """One fault for each name that is not one agent's alone, and for each that is blank."""
    names = [_name_of(entry) for entry in written]
    for number, name in enumerate(names, start=1):
        if name is not None and not name.strip():
            called = f"number {number}"
            yield ProfileFault(agent=called, key="name", problem="it is blank", remedy="name it")
    for name, times in Counter(filter(None, names)).items():
        if times > 1:
            yield ProfileFault(
                agent=name,
                key="name",
                problem=f"{times} profiles are called that",
                remedy="a call names its agent, so give each a name of its own",
            )


def _lists_nothing(profile: AgentProfile) -> Iterator[ProfileFault]:
    """A wall that was begun and lists nothing would allow everything."""
    begun = {"domains", "tools"} & profile.model_fields_set
    if begun and profile.wall.is_open:
        yield ProfileFault(
            agent=profile.name,
            key=" and ".join(sorted(begun)),
            problem="nothing is listed, which would allow every tool",
            remedy="list what it may use, or leave the key out if that is everything",
        )


def _never_asked(profile: AgentProfile) -> Iterator[ProfileFault]:
    """Models that would not be asked, or not again by being named twice."""
    models = {"model": (profile.model,) if profile.model else (), "fallback": profile.fallback}
    if profile.planner == CHAINING:
        for key in (key for key, named in models.items() if named):
            yield ProfileFault(
                agent=profile.name,
                key=key,
                problem=f"the planner {CHAINING} asks no model",
                remedy=f"leave {key} out, or planner",
            )
    named = Counter((*models["model"], *models["fallback"]))
    for name in (name for name, times in named.items() if times > 1):
        yield ProfileFault(
            agent=profile.name,
            key="fallback",
            problem=f"{name} is named twice",
            remedy="a fallback is another model: it is asked when those before it cannot decide",
        )


def meant(written: str, names: Iterable[str]) -> str | None:
    """`did you mean ...?` with the names that are near to a written one; None for none."""
    near = process.extract(
        written, list(names), scorer=fuzz.WRatio, limit=_NEAR, score_cutoff=_NEAR_ENOUGH
    )
    return f"did you mean {', '.join(name for name, _, _ in near)}?" if near else None
