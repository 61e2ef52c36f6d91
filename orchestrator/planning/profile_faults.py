"""Faults of agent profiles: in their syntax, and against a catalog."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from rapidfuzz import fuzz, process

from orchestrator.core.limits import Limits
from orchestrator.core.record import Record
from orchestrator.core.wall import Wall
from orchestrator.planning.models import ANYBODY, CHAINING, AgentProfile

if TYPE_CHECKING:  # settings read profiles without importing a catalog
    from orchestrator.catalog.catalog import Catalog

_Found = tuple[str, str, str]
"""The key, the problem and the remedy of a fault."""
_NEAR: Final = 3
_NEAR_ENOUGH: Final = 70
_WRITE: Final = {
    "tuple_type": "write a list: [one, another]",
    "string_type": "write a text",
    "missing": "every profile needs one",
}
"""Remedies of the most common syntax faults."""


class ProfileFault(Record):
    """A fault of an agent's profile."""

    agent: str
    key: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"agent {self.agent}: {self.key}: {self.problem}; {self.remedy}"


def read_profiles(
    written: Sequence[Any],
) -> tuple[tuple[AgentProfile, ...], tuple[ProfileFault, ...]]:
    """Return the profiles of a list from a file, and the faults in its syntax."""
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in written]
    profiles: list[AgentProfile] = []
    faults: list[ProfileFault] = []
    for number, (name, entry) in enumerate(zip(names, written, strict=True), start=1):
        said = name.strip() if isinstance(name, str) else ""
        called = said or f"number {number}"
        try:
            profiles.append(AgentProfile.model_validate(entry, extra="forbid"))
        except ValidationError as error:
            faults += _faults(called, map(_fault_of_form, error.errors()))
        if isinstance(name, str) and not said:
            faults += _faults(called, [("name", "it is blank", "name it")])
    for name, times in Counter(name for name in names if name and isinstance(name, str)).items():
        if times > 1:
            remedy = "a call names its agent, so give each a name of its own"
            faults += _faults(name, [("name", f"{times} profiles are called that", remedy)])
    for profile in profiles:
        faults += _faults(profile.name, _faults_among(profile, profiles))
    return tuple(profiles), tuple(faults)


def catalog_faults(
    profiles: Iterable[AgentProfile], catalog: "Catalog"
) -> tuple[ProfileFault, ...]:
    """Return the names in profiles that the catalog does not contain."""
    return tuple(
        fault
        for profile in profiles
        for fault in _faults(profile.name, _faults_of_names(profile, catalog))
    )


def meant(written: str, names: Iterable[str]) -> str | None:
    """Return `did you mean ...?` with the names similar to a written one; None if none is."""
    near = process.extract(
        written, list(names), scorer=fuzz.WRatio, limit=_NEAR, score_cutoff=_NEAR_ENOUGH
    )
    return f"did you mean {', '.join(name for name, _, _ in near)}?" if near else None


def _faults(agent: str, found: Iterable[_Found]) -> list[ProfileFault]:
    return [ProfileFault(agent=agent, key=k, problem=p, remedy=r) for k, p, r in found]


def _fault_of_form(fault: Any) -> _Found:
    place = ".".join(str(part) for part in fault["loc"])
    if not place:
        return "profile", "it is no mapping", "write `name: ...`"
    if fault["type"] != "extra_forbidden":
        return place, fault["msg"], _WRITE.get(fault["type"], "see docs/extending.md")
    is_limit = place.startswith("limits.")
    keys = tuple((Limits if is_limit else AgentProfile).model_fields)
    holder = "limits are" if is_limit else "a profile has"
    remedy = meant(place.rpartition(".")[2], keys) or f"{holder} {', '.join(keys)}"
    return place, "there is no such key", remedy


def _faults_among(profile: AgentProfile, profiles: Iterable[AgentProfile]) -> Iterator[_Found]:
    begun = {"domains", "tools"} & profile.model_fields_set
    if begun and profile.wall.is_open:
        remedy = "list what it may use, or leave the key out if that is everything"
        problem = "nothing is listed, which would allow every tool"
        yield " and ".join(sorted(begun)), problem, remedy
    models = {"model": (profile.model,) if profile.model else (), "fallback": profile.fallback}
    if profile.planner == CHAINING:
        for key in (key for key, named in models.items() if named):
            yield key, f"the planner {CHAINING} asks no model", f"leave {key} out, or planner"
    named = Counter((*models["model"], *models["fallback"]))
    remedy = "a fallback is another model: it is asked when those before it cannot decide"
    for name in (name for name, times in named.items() if times > 1):
        yield "fallback", f"{name} is named twice", remedy
    others = tuple(one.name for one in profiles if one.name != profile.name)
    for name in profile.hands_over_to:
        if name not in (*others, ANYBODY):
            remedy = meant(name, others) or f"there are: {', '.join(others) or 'none'}"
            yield "hands_over_to", f"there is no other agent {name!r}", remedy


def _faults_of_names(profile: AgentProfile, catalog: "Catalog") -> Iterator[_Found]:
    tools = catalog.tools.values()
    domains = sorted({tool.domain for tool in tools})
    for key, named in (("domains", profile.domains), ("prefers", profile.prefers)):
        for domain in (one for one in named if one not in domains):
            remedy = meant(domain, domains) or f"there are {', '.join(domains)}"
            if domain in catalog.tools:
                remedy = "that is a tool: list it under tools"
            yield key, f"no tool is of the domain {domain!r}", remedy
    inside = {tool.domain for tool in tools if profile.wall.admits(tool.name, tool.domain)}
    for domain in profile.prefers:
        if domain in domains and domain not in inside:
            remedy = f"list {domain} under domains as well, or do not prefer it"
            yield "prefers", f"it may touch no tool of {domain}", remedy
    for pattern in profile.tools:
        alone = Wall(agent=profile.name, tools=(pattern,))
        if any(alone.admits(tool.name, tool.domain) for tool in tools):
            continue
        remedy = meant(pattern, catalog.tools) or "see: orchestrator tools list"
        if any(tool.domain == pattern for tool in tools):
            remedy = "that is a domain: list it under domains"
        yield "tools", f"no tool is called {pattern!r}", remedy
