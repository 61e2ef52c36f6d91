"""`orchestrator route ...`: route a request, evaluate and calibrate the router."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from orchestrator.cli.options import Overlays, Specs, new_app, open_catalog
from orchestrator.cli.output import (
    AsJson,
    block,
    console,
    counting_bar,
    line,
    present,
    print_json,
    table_of,
)
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from pydantic import BaseModel, JsonValue

    from orchestrator.catalog.catalog import Catalog
    from orchestrator.routing.learning.trace import RouteRecord
    from orchestrator.routing.scoring.embedding import CardSimilarity
    from orchestrator.settings import Settings

_ANSWER_S = 30.0
"""Seconds that a command waits for the vectors of a request."""


class _TextOrCommand(TyperGroup):
    """Takes `route TEXT` as `route text TEXT`, unless TEXT is the name of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = next((arg for arg in args if not arg.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = ["text", *args]
        return super().parse_args(ctx, args)


app = new_app(cls=_TextOrCommand, no_args_is_help=True)
_SCORES_SHOWN = 8

EmbedderName = Annotated[
    str | None, typer.Option("--embedder", help="The embedder: built-in, none, or module:factory.")
]


@app.command("text")
def route_text(
    text: Annotated[str, typer.Argument(help="The request, in plain words.")],
    specs: Specs = None,
    overlays: Overlays = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every feature of the best candidates.")
    ] = False,
    embedder: EmbedderName = None,
    as_json: AsJson = False,
) -> None:
    """Show the tools for a request; `text` may be left out.

    Example: orchestrator route "weather in London" --explain
    """
    from orchestrator.routing.router import Router
    from orchestrator.settings import load_routing_profile, load_settings

    settings = load_settings()
    catalog = open_catalog(specs, overlays)
    similarity = patient_similarity(embedder or settings.embedder, settings)
    router = Router(
        catalog,
        profile=load_routing_profile(settings.routing_profile),
        similarity=similarity(catalog) if similarity else None,
    )
    explanation = router.explain(text, now=datetime.now(UTC))
    selection = explanation.selection
    if as_json:
        print_json({**selection.model_dump(mode="json"), "headers": selection.headers})
        return
    if not selection.fits:
        nearest = "; the nearest:" if selection.tools else ""
        console.print(line(("nothing here seems to fit", "yellow"), nearest))
    for name in selection.tools:
        mark = "  (prerequisite)" if name in selection.prerequisites else ""
        console.print(f"{selection.scores.get(name, 0.0):.3f}  {name}{mark}")
    console.print()
    chosen = f"{len(selection.tools)} of {selection.catalog_size} tools"
    console.print(f"{selection.band}: {chosen}; {selection.reason}")
    frame = selection.frame
    console.print(
        f"domain {frame.domain}, action {frame.action.value}, confidence {frame.confidence:.2f}, "
        f"side effect {'allowed' if frame.side_effect_allowed else 'not asked for'}"
    )
    if frame.references:
        console.print(f"points back: {', '.join(frame.references)}")
    if selection.embedder:
        console.print(f"embedder: {selection.embedder}")
    for slot in frame.slots:
        console.print(line(f"  {slot.kind}: {slot.value}  ", (slot.hint, "dim")))
    # The features of the best candidates that are not zero, clause by clause.
    for clause, scores in explanation.tables if explain else ():
        console.rule(clause)
        table = table_of("tool", "score", "features")
        for row in scores.rows(_SCORES_SHOWN):
            features = [
                f"{name} {value:.2f}"
                for name, value in row.items()
                if name not in ("tool", "fused") and value
            ]
            table.add_row(str(row["tool"]), f"{row['fused']:.3f}", "  ".join(features))
        console.print(table)


@app.command("eval")
def evaluate_router(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER|RECORDS]",
            help="A folder with tools.jsonl and queries.jsonl, or a file of records of a proxy; "
            "default: those of the store.",
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="The split whose queries are used.")] = "eval",
    profile: Annotated[
        Path | None, typer.Option(help="A routing profile, as `route calibrate` writes it.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option(help="Write a record of each query here, for `calibrate`.")
    ] = None,
    embedder: EmbedderName = None,
    as_json: AsJson = False,
) -> None:
    """Measure recall, coverage, mean K, nDCG and latency.

    On records of proxies: tools forwarded, calls covered, tokens saved, overhead.

    Example: orchestrator route eval datasets/toolalpaca

    Example: orchestrator route eval
    """
    if source is None or source.is_file():
        from orchestrator.routing.learning.trace import usage_of

        present(usage_of(_records(source, proxy=True)), draw_evaluation, as_json=as_json)
        return
    from orchestrator.routing.learning.evaluation import evaluate
    from orchestrator.settings import load_routing_profile, load_settings

    for name in ("tools.jsonl", "queries.jsonl"):
        if not (source / name).is_file():
            raise UsageError(f"{source} has no {name}; name a folder that holds both files")
    settings = load_settings()
    records: list[RouteRecord] = []
    with counting_bar() as bar:
        task = bar.add_task("requests", total=None)
        report = evaluate(
            source,
            split=split,
            profile=load_routing_profile(profile),
            clock=time.perf_counter,
            traces=records.append,
            similarity=patient_similarity(embedder or settings.embedder, settings),
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    if traces is not None:
        traces.write_text("".join(f"{r.model_dump_json()}\n" for r in records), encoding="utf-8")
    present(report, draw_evaluation, as_json=as_json)


@app.command("calibrate")
def calibrate_profile(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    traces: Annotated[
        Path | None,
        typer.Argument(help="A file of `eval --traces`; default: the records of the store."),
    ] = None,
    base: Annotated[
        Path | None, typer.Option(help="The profile that the records were routed with.")
    ] = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Use the store's records of proxies, not of missions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit thresholds and a signal per tool to recorded calls.

    The profile is used by workers that find it in ORCHESTRATOR_ROUTING_PROFILE.

    Example: orchestrator route calibrate --out profile.json
    """
    from orchestrator.adapters.storage.files import replace_file
    from orchestrator.routing.learning.calibration import calibrate
    from orchestrator.settings import load_routing_profile

    report = calibrate(_records(traces, proxy=proxy), profile=load_routing_profile(base))
    if not report.records:
        where = traces or "the store"
        raise UsageError(f"{where} holds no selection of which the called tool is known")
    replace_file(out, f"{report.profile.model_dump_json(indent=2)}\n".encode(), mode=0o644)
    if as_json:
        return print_json(report)
    table = table_of("of its own records", "before", "after")
    rows = (
        ("the first tool was called", report.first_right_before, report.first_right_after),
        ("all that was called was forwarded", report.covered_before, report.covered_after),
        ("mean K", report.mean_k_before, report.mean_k_after),
    )
    for name, before, after in rows:
        table.add_row(name, f"{before:.3f}", f"{after:.3f}")
    console.print(table)
    return console.print(f"{report.records} records; the profile is in {out}", soft_wrap=True)


def _records(path: Path | None, *, proxy: bool) -> list[RouteRecord]:
    """Return the records of a file, or those of the store."""
    if path is not None:
        from orchestrator.adapters.storage.sql_routing import read_records

        return read_records(path)
    from orchestrator.client.stores import store_of
    from orchestrator.settings import load_settings

    with store_of(load_settings()) as store:
        return (store.proxy_traces if proxy else store.traces).records()


def patient_similarity(
    named: str | None, settings: Settings
) -> Callable[[Catalog], CardSimilarity] | None:
    """Return the function that embeds cards without a time limit; None without an embedder."""
    from orchestrator.adapters.embedding.embedders import TimedSimilarity
    from orchestrator.runtime.vectors import embedder_of, similarity_of

    make = similarity_of(embedder_of(named, settings), timeout_s=_ANSWER_S)
    if make is None:
        return None

    def embedded(catalog: Catalog) -> CardSimilarity:
        similarity = make(catalog)
        if isinstance(similarity, TimedSimilarity):
            similarity.wait()
        return similarity

    return embedded


def draw_evaluation(console: Console, report: BaseModel) -> None:
    """Draw an evaluation, figure by figure, without those that are unknown."""
    table = table_of("figure", "value", "what it is")
    fields = type(report).model_fields
    for name, value in report.model_dump(mode="json").items():
        if value is not None and value != {}:
            table.add_row(name, block(_figure(value)), fields[name].description)
    console.print(table)


def _figure(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_figure(part)}" for name, part in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)
