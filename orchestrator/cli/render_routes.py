"""Selections and how they came about, evaluations and calibrations, drawn with rich."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, JsonValue
from rich.console import Console

from orchestrator.cli.drawing import block, line, table_of

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.routing.learning.calibration import Calibration
    from orchestrator.routing.learning.curve import CurvePoint
    from orchestrator.routing.router import Explanation
    from orchestrator.routing.selection import Selection


def selection(console: Console, chosen: Selection) -> None:
    """The forwarded tools and the reason."""
    if not chosen.fits:
        nearest = "; the nearest:" if chosen.tools else ""
        console.print(line(("nothing here seems to fit", "yellow"), nearest))
    for name in chosen.tools:
        mark = "  (prerequisite)" if name in chosen.prerequisites else ""
        console.print(f"{chosen.scores.get(name, 0.0):.3f}  {name}{mark}")
    console.print()
    console.print(
        f"{chosen.band}: {len(chosen.tools)} of {chosen.catalog_size} tools; {chosen.reason}"
    )
    frame = chosen.frame
    console.print(
        f"domain {frame.domain}, action {frame.action.value}, confidence {frame.confidence:.2f}, "
        f"side effect {'allowed' if frame.side_effect_allowed else 'not asked for'}"
    )
    if frame.references:
        console.print(f"points back: {', '.join(frame.references)}")
    if chosen.embedder:
        console.print(f"embedder: {chosen.embedder}")
    for slot in frame.slots:
        console.print(line(f"  {slot.kind}: {slot.value}  ", (slot.hint, "dim")))


def explanation(console: Console, explained: Explanation, most: int = 8) -> None:
    """Every feature of the best candidates, clause by clause; those that are zero are left out."""
    for text, scores in explained.tables:
        console.rule(text)
        table = table_of("tool", "score", "features")
        for row in scores.rows(most):
            features = [
                f"{name} {value:.2f}"
                for name, value in row.items()
                if name not in ("tool", "fused") and value
            ]
            table.add_row(str(row["tool"]), f"{row['fused']:.3f}", "  ".join(features))
        console.print(table)


def evaluation(console: Console, report: BaseModel) -> None:
    """An evaluation, figure by figure; those that the folder cannot tell are left out."""
    table = table_of("figure", "value", "what it is")
    fields = type(report).model_fields
    for name, value in report.model_dump(mode="json").items():
        if value is not None and value != {}:
            table.add_row(name, block(_figure(value)), fields[name].description)
    console.print(table)


def curve(console: Console, points: Sequence[CurvePoint]) -> None:
    """Size against coverage: what each `gain` of the profile leads to."""
    table = table_of("gain", "tools forwarded", "all needed are among them", "of as many first")
    for point in points:
        shares = (point.mean_forwarded, point.forwarded_coverage, point.fixed_coverage)
        table.add_row(f"{point.gain:g}", *(f"{share:.3f}" for share in shares))
    console.print(table)


def _figure(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_figure(part)}" for name, part in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def calibration(console: Console, report: Calibration, out: Path) -> None:
    """What a calibration changes for its own records, and where the profile went."""
    table = table_of("of its own records", "before", "after")
    rows = (
        ("the first tool was called", report.first_right_before, report.first_right_after),
        ("all that was called was forwarded", report.covered_before, report.covered_after),
        ("mean K", report.mean_k_before, report.mean_k_after),
    )
    for name, before, after in rows:
        table.add_row(name, f"{before:.3f}", f"{after:.3f}")
    console.print(table)
    console.print(f"{report.records} records; the profile is in {out}", soft_wrap=True)
