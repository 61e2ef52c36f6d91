"""The usage of the proxy: records of exchanges, and the page at /_orqen with their figures."""

import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from typing import Final

from orchestrator.adapters.storage.protocols import RouteTraces
from orchestrator.language.intent import IntentFrame
from orchestrator.pruning.pruner import Pruned
from orchestrator.routing.learning.trace import ProxyUsage, RouteRecord, record_of
from orchestrator.routing.selection import Selection

_CHARACTERS_A_TOKEN: Final = 4
_BAR: Final = 22
_WIDTH: Final = 420
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
       color: #1b2330; background: #fff; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; }
dt { color: #5b6675; } dd { margin: 0; font-size: 1.6rem; font-variant-numeric: tabular-nums; }
svg text { font: 13px system-ui, sans-serif; fill: #1b2330; } rect { fill: #2f6fd0; }
@media (prefers-color-scheme: dark) {
  body { color: #e7ebf1; background: #14181f; } dt { color: #9aa6b6; } svg text { fill: #e7ebf1; }
}
"""


@dataclass(frozen=True)
class Exchange:
    """A request to a model whose answer has passed."""

    pruned: Pruned
    called: tuple[str, ...]
    overhead_s: float


class ExchangeRecorder:
    """Writes a record of each exchange, in order and outside the event loop."""

    def __init__(self, traces: RouteTraces) -> None:
        self._traces = traces
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="route-traces")

    def __call__(self, exchange: Exchange) -> None:
        """Record an exchange, if tools were chosen in it."""
        if (record := record_of_exchange(exchange)) is not None:
            self._writer.submit(self._traces.record, record)

    def close(self) -> None:
        """Wait for pending writes."""
        self._writer.shutdown()


def record_of_exchange(exchange: Exchange) -> RouteRecord | None:
    """Return the record of an exchange, without its text; None if it had no tools."""
    pruned = exchange.pruned
    if pruned.routing == "passed_on":
        return None
    selection = pruned.selection or Selection(
        tools=(),
        k=0,
        band="fail_open",
        reason=pruned.reason,
        frame=IntentFrame(),
        catalog_size=pruned.offered,
    )
    record = record_of(
        selection,
        mission_id=f"proxy-{uuid.uuid4().hex}",
        called=tuple((name,) for name in exchange.called),
    )
    figures = {
        "mode": pruned.mode,
        "offered": pruned.offered,
        "forwarded": len(pruned.kept),
        "stayed": tuple(sorted(pruned.names.difference(selection.tools))),
        "tokens_saved": pruned.saved_characters // _CHARACTERS_A_TOKEN,
        "overhead_ms": round(exchange.overhead_s * 1000, 2),
    }
    return record.model_copy(update=figures)


def report_page(usage: ProxyUsage) -> str:
    """Return the page as HTML, without scripts or external resources."""
    figures = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _figures(usage))
    grouped = f"<dl>{figures}</dl>".replace("<dt>", "<div><dt>").replace("</dd>", "</dd></div>")
    charts = "".join(
        f"<h2>{title}</h2>{_bars({str(key): count for key, count in counts.items()})}"
        for title, counts in (
            ("Tools forwarded", usage.widths),
            ("Bands", usage.bands),
            ("Modes", usage.modes),
        )
        if counts
    )
    empty = "" if usage.requests else "<p>No request with tools has passed yet.</p>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Tool pruning</title>"
        f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>Tool pruning</h1>{empty}{grouped}{charts}</html>"
    )


def _figures(usage: ProxyUsage) -> list[tuple[str, str]]:
    return [
        ("requests", f"{usage.requests:,}"),
        ("tools offered", f"{usage.mean_offered:.1f}"),
        ("tools forwarded", f"{usage.mean_forwarded:.2f}"),
        ("called tools forwarded", _percent(usage.recall)),
        ("tokens saved, about", f"{usage.tokens_saved:,}"),
        ("all forwarded", _percent(usage.fail_open)),
        ("unread", f"{usage.unread:,}"),
        ("overhead p50", _milliseconds(usage.overhead_p50_ms)),
        ("overhead p99", _milliseconds(usage.overhead_p99_ms)),
    ]


def _bars(counts: Mapping[str, int]) -> str:
    most = max(counts.values())
    rows = []
    for row, (name, count) in enumerate(counts.items()):
        y, width = row * _BAR, max(1, round(_WIDTH * count / most))
        rows.append(
            f'<text x="0" y="{y + 15}">{escape(name)}</text>'
            f'<rect x="110" y="{y + 3}" width="{width}" height="15" rx="2"/>'
            f'<text x="{118 + width}" y="{y + 15}">{count:,}</text>'
        )
    height = len(counts) * _BAR
    label = escape(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 640 {height}" width="640" '
        f'height="{height}">{"".join(rows)}</svg>'
    )


def _percent(share: float | None) -> str:
    return "\u2013" if share is None else f"{share:.1%}"


def _milliseconds(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:.1f} ms"
