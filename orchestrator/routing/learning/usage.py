"""What proxied requests came to: how many tools went on, what that saved, and what was missed."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, quantiles

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.routing.learning.trace import RouteRecord


class ProxyUsage(Record):
    """Figures over the records of a proxy."""

    requests: int = 0
    calls: int = Field(default=0, description="tools that models called")
    recall: float | None = Field(
        default=None,
        description="share of the calls whose tool was forwarded, or would have been in a shadow; "
        "None before the first call",
    )
    mean_offered: float = 0
    mean_forwarded: float = Field(default=0, description="in a shadow: that would have been")
    tokens_saved: int = Field(default=0, description="about; in a shadow: that would have been")
    fail_open: float = Field(default=0, description="share of the requests with all their tools")
    overhead_p50_ms: float | None = None
    overhead_p99_ms: float | None = None
    bands: dict[str, int] = Field(default_factory=dict, description="requests by band")
    modes: dict[str, int] = Field(default_factory=dict, description="requests by mode")
    widths: dict[int, int] = Field(
        default_factory=dict, description="requests by how many tools were forwarded"
    )


def usage_of(records: Sequence[RouteRecord]) -> ProxyUsage:
    """The figures of those records that a proxy made; others are of missions."""
    own = [record for record in records if record.offered]
    if not own:
        return ProxyUsage()
    called = [(name, record) for record in own for group in record.called for name in group]
    overheads = sorted(r.overhead_ms for r in own if r.overhead_ms is not None)
    widths = Counter(record.forwarded for record in own)
    return ProxyUsage(
        requests=len(own),
        calls=len(called),
        recall=_share([r.band == "fail_open" or n in _had(r) for n, r in called]),
        mean_offered=fmean(record.offered for record in own),
        mean_forwarded=fmean(record.forwarded for record in own),
        tokens_saved=sum(record.tokens_saved for record in own),
        fail_open=_share([record.band == "fail_open" for record in own]) or 0,
        overhead_p50_ms=_percentile(overheads, 50),
        overhead_p99_ms=_percentile(overheads, 99),
        bands=dict(Counter(record.band for record in own).most_common()),
        modes=dict(Counter(record.mode for record in own).most_common()),
        widths=dict(sorted(widths.items())),
    )


def _had(record: RouteRecord) -> tuple[str, ...]:
    return (*record.tools, *record.stayed)


def _share(facts: Sequence[bool]) -> float | None:
    return fmean(facts) if facts else None


def _percentile(values: Sequence[float], percent: int) -> float | None:
    if not values:
        return None
    return quantiles([*values, *values], n=100, method="inclusive")[percent - 1]
