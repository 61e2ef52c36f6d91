"""The page at /_orqen: how the proxy does, as figures and charts, from its own records."""

from collections.abc import Mapping
from html import escape
from typing import Final

from orchestrator.routing.learning.usage import ProxyUsage

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


def report_page(usage: ProxyUsage) -> str:
    """The page as HTML: no script, and nothing from elsewhere."""
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
        ("overhead p50", _milliseconds(usage.overhead_p50_ms)),
        ("overhead p99", _milliseconds(usage.overhead_p99_ms)),
    ]


def _bars(counts: Mapping[str, int]) -> str:
    """A bar for each name, as long as its share of the largest."""
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
