"""What is wrong with agent profiles over a catalog.

Apart from how they are written, which settings ask without the weight of a catalog.
"""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.wall import Wall
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.profile_faults import ProfileFault, meant
from orchestrator.planning.walls import is_inside


def catalog_faults(profiles: Iterable[AgentProfile], catalog: Catalog) -> tuple[ProfileFault, ...]:
    """What the profiles name that the catalog does not hold."""
    domains = sorted({tool.domain for tool in catalog.tools.values()})
    return tuple(
        fault
        for profile in profiles
        for faults in (
            _unknown_domains(profile, "domains", domains, catalog),
            _unknown_domains(profile, "prefers", domains, catalog),
            _unknown_tools(profile, domains, catalog),
            _preferred_outside(profile, domains, catalog),
        )
        for fault in faults
    )


def _unknown_domains(
    profile: AgentProfile, key: str, domains: Sequence[str], catalog: Catalog
) -> Iterator[ProfileFault]:
    for domain in getattr(profile, key):
        if domain in domains:
            continue
        if domain in catalog.tools:
            remedy = "that is a tool: list it under tools"
        else:
            remedy = meant(domain, domains) or f"there are {', '.join(domains)}"
        yield ProfileFault(
            agent=profile.name,
            key=key,
            problem=f"no tool is of the domain {domain!r}",
            remedy=remedy,
        )


def _unknown_tools(
    profile: AgentProfile, domains: Sequence[str], catalog: Catalog
) -> Iterator[ProfileFault]:
    for pattern in profile.tools:
        alone = Wall(agent=profile.name, tools=(pattern,))
        if any(is_inside(tool, (alone,)) for tool in catalog.tools.values()):
            continue
        if pattern in domains:
            remedy = "that is a domain: list it under domains"
        else:
            remedy = meant(pattern, catalog.tools) or "see: orchestrator tools list"
        yield ProfileFault(
            agent=profile.name,
            key="tools",
            problem=f"no tool is called {pattern!r}",
            remedy=remedy,
        )


def _preferred_outside(
    profile: AgentProfile, domains: Sequence[str], catalog: Catalog
) -> Iterator[ProfileFault]:
    """Domains that the agent prefers and may not touch."""
    inside = {t.domain for t in catalog.tools.values() if is_inside(t, (profile.wall,))}
    for domain in profile.prefers:
        if domain in domains and domain not in inside:
            yield ProfileFault(
                agent=profile.name,
                key="prefers",
                problem=f"it may touch no tool of {domain}",
                remedy=f"list {domain} under domains as well, or do not prefer it",
            )
