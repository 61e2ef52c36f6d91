"""`orchestrator workflow ...`: check and show workflows of Arazzo documents; nothing is run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import Overlays, Specs, new_app, open_catalog, split_pair
from orchestrator.cli.output import AsJson, block, console, line, listing, print_json
from orchestrator.core.shown_text import number_of, visible

if TYPE_CHECKING:  # help does without them
    from orchestrator.arazzo.arazzo_document import ArazzoDocument
    from orchestrator.arazzo.written import WrittenWorkflow
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.core.errors import DocumentInvalid

app = new_app(no_args_is_help=True)

ArazzoFile = Annotated[Path, typer.Argument(metavar="FILE", help="An Arazzo document.")]
OneWorkflow = Annotated[
    str, typer.Option("--workflow", metavar="ID", help="A workflow of it; default: all of them.")
]
SourcePairs = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=DOCUMENT",
        help="The catalog's document that a source description means; repeatable.",
    ),
]


@app.command()
def lint(
    file: ArazzoFile,
    workflow: OneWorkflow = "",
    specs: Specs = None,
    overlays: Overlays = None,
    sources: SourcePairs = None,
    as_json: AsJson = False,
) -> None:
    """Check workflows against their tools; exit 1 on errors.

    Example: orchestrator workflow lint trip.arazzo.yaml --specs specs/
    """
    from orchestrator.arazzo.workflow_lint import CODES, fault_finding, lint_workflows

    catalog = open_catalog(specs, overlays)
    bound, faults = _bind(file, workflow, catalog, sources)
    # What follows from a step that cannot be bound is not worth reading before it is corrected.
    findings = [fault_finding(one) for one in faults] or lint_workflows(bound, catalog)
    errors = sum(one.severity == "error" for one in findings)
    if as_json:
        listed = [one.model_dump(mode="json", exclude={"operations"}) for one in findings]
        print_json({"findings": listed, "errors": errors})
    else:
        for one in findings:
            about = f"{one.severity} {one.code}, {CODES[one.code].finds}"
            found_at = f"{one.document}{one.pointer}: {about}: {one.message}"
            console.print(block(found_at), soft_wrap=True)
            console.print(block(f"    {one.fix}"), soft_wrap=True)
        counts = Counter(str(one.severity) for one in findings)
        counted = ", ".join(number_of(counts[one], one) for one in ("error", "warning", "note"))
        console.print(counted if findings else "nothing to fix")
    if errors:
        raise typer.Exit(1)


@app.command()
def show(
    file: ArazzoFile,
    workflow: OneWorkflow = "",
    specs: Specs = None,
    overlays: Overlays = None,
    sources: SourcePairs = None,
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print the flow as text of a Mermaid graph.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the steps of workflows with their tools and successors.

    Example: orchestrator workflow show trip.arazzo.yaml --mermaid
    """
    from orchestrator.arazzo.workflow_view import mermaid, step_rows

    catalog = open_catalog(specs, overlays)
    bound, faults = _bind(file, workflow, catalog, sources)
    if faults:
        raise faults[0]
    if as_mermaid:
        typer.echo(mermaid(bound, catalog), nl=False)
        return
    shown = [(one, step_rows(one, catalog)) for one in bound]
    if as_json:
        print_json(
            [
                {
                    "workflow_id": one.workflow_id,
                    "summary": one.summary,
                    "inputs": one.inputs,
                    "depends_on": one.depends_on,
                    "steps": [row.model_dump(mode="json") for row in rows],
                    "outputs": list(one.outputs),
                }
                for one, rows in shown
            ]
        )
        return
    for one, rows in shown:
        after = f", after {', '.join(one.depends_on)}" if one.depends_on else ""
        console.print(line((one.workflow_id, "bold"), f"{after}: {one.summary}"), soft_wrap=True)
        cells = (
            (
                visible(row.step),
                visible(row.calls),
                row.effect + (f", cancelled by {row.cancelled_by}" if row.cancelled_by else ""),
                visible(", ".join(row.reads)),
                visible("; ".join(row.then)),
            )
            for row in rows
        )
        listing(console, ("step", "calls", "effect", "reads", "then"), cells)


def _bind(
    file: Path, workflow: str, catalog: Catalog, sources: list[str] | None
) -> tuple[list[WrittenWorkflow], list[DocumentInvalid]]:
    """Return the workflows of a document bound, each once, and the faults of the others."""
    from orchestrator.arazzo.arazzo_files import load_document
    from orchestrator.arazzo.binding import bind_leniently
    from orchestrator.core.errors import DocumentInvalid

    document, linked = load_document(file)
    meant: dict[str, str | ArazzoDocument] = {**linked, **dict(map(split_pair, sources or ()))}
    found: dict[str, WrittenWorkflow] = {}
    faults: dict[str, DocumentInvalid] = {}
    for name in [workflow] if workflow else [one.workflow_id for one in document.workflows]:
        try:
            bound, wrong = bind_leniently(document, name, catalog, meant)
        except DocumentInvalid as fault:
            bound, wrong = (), (fault,)
        found |= {one.workflow_id: one for one in bound}
        faults |= {str(one): one for one in wrong}
    return list(found.values()), list(faults.values())
