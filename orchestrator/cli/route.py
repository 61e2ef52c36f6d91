"""`orchestrator route ...`: which tools a request would be given, and how well the router does."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orchestrator.cli import render
from orchestrator.cli.output import AsJson, console, print_json
from orchestrator.cli.tools import open_catalog
from orchestrator.cli.values import Overlays, Specs
from orchestrator.errors import UsageError
from orchestrator.routing.evaluation import evaluate
from orchestrator.routing.router import Router


class _TextOrCommand(TyperGroup):
    """`route TEXT` routes; `route eval` is a command: anything that is no command is a text."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = next((arg for arg in args if not arg.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = ["text", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_TextOrCommand,
    help="Route a request: `orchestrator route TEXT`; measure: `orchestrator route eval FOLDER`.",
    no_args_is_help=True,
)


@app.command("text")
def route_text(
    text: Annotated[str, typer.Argument(help="The request, in plain words.")],
    specs: Specs = None,
    overlays: Overlays = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every feature of the best candidates.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The tools that a request would be given; `text` may be left out.

    Example: orchestrator route "weather in London" --explain
    """
    router = Router(open_catalog(specs, overlays))
    explanation = router.explain(text, now=datetime.now(UTC))
    if as_json:
        selection = explanation.selection
        print_json({**selection.model_dump(mode="json"), "headers": selection.headers})
        return
    render.selection(console, explanation.selection)
    if explain:
        render.explanation(console, explanation)


@app.command("eval")
def evaluate_folder(
    folder: Annotated[Path, typer.Argument(help="A folder with tools.jsonl and queries.jsonl.")],
    as_json: AsJson = False,
) -> None:
    """Recall, coverage, mean K, nDCG and latency on a dataset.

    Example: orchestrator route eval datasets/toolalpaca
    """
    for name in ("tools.jsonl", "queries.jsonl"):
        if not (folder / name).is_file():
            raise UsageError(f"{folder} has no {name}; name a folder that holds both files")
    report = evaluate(folder, clock=time.perf_counter)
    if as_json:
        print_json(report)
    else:
        render.evaluation(console, report)
