"""`orchestrator mission export`: records, files and written workflows of missions."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line
from orchestrator.cli.options import MissionId, Specs, open_catalog
from orchestrator.cli.output import print_json, progress, run, write_new
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible_block


class ExportFormat(StrEnum):
    """Formats of an exported mission."""

    RECORD = "record"
    ARAZZO = "arazzo"


def export(
    mission_id: MissionId,
    style: Annotated[
        ExportFormat,
        typer.Option("--format", help="Its record, or a workflow that makes its calls again."),
    ] = ExportFormat.RECORD,
    out: Annotated[
        Path | None, typer.Option(help="Where it is written, a new file; else it is printed.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="HANDLE",
            help="Write a file that it received, in place of its record: file:sha256-..., as its "
            "answers and results say.",
        ),
    ] = None,
    specs: Specs = None,
) -> None:
    """Write the record of a mission that is over, one JSON document with its digest, for audit.

    It has the request, the plan, cards, decisions, calls, answers and cancellations, by whom and
    when, and a digest of each recorded history. Personal values are handles in it.

    With --file it writes a file that the mission received, from the store; no server is asked.

    Example: orchestrator mission export book-a-flight-from-1a2b3c --out record.json

    Example: orchestrator mission export ship-1a2b3c --file file:sha256-9f86d0 --out label.pdf

    With --format arazzo it writes an Arazzo document: values of the request are its inputs, and
    values of earlier answers are read from them.

    Example: orchestrator mission export trip-1a2b3c --format arazzo --out trip.arazzo.yaml
    """
    if style is ExportFormat.ARAZZO:
        if file:
            raise UsageError("--format arazzo writes a workflow: give --out alone")
        _write_arazzo(mission_id, specs, out)
        return
    if file is not None:
        if out is None:
            raise UsageError("--file is written as it is: give --out")
        _write_file(mission_id, file, out)
        return
    from orchestrator.client.mission_record import seal

    if out is not None and out.exists():
        raise UsageError(f"{out} is there already: name a new file")
    record = ask(lambda client: client.record(mission_id))
    sealed = seal(record)
    if out is None:
        print_json(sealed)
        return
    text = json.dumps(sealed.model_dump(mode="json"), indent=2)
    write_new(out, f"{text}\n".encode("ascii"))
    progress.print(line(f"{out}: SHA-256 {sealed.sha256}"), soft_wrap=True)


def _write_arazzo(mission_id: str, specs: list[Path] | None, out: Path | None) -> None:
    from orchestrator.arazzo.workflow_export import as_yaml
    from orchestrator.client.mission_calls import mission_as_arazzo

    if out is not None and out.exists():
        raise UsageError(f"{out} is there already: name a new file")
    catalog = open_catalog(specs, None)
    text = as_yaml(ask(lambda client: mission_as_arazzo(client.connection, mission_id, catalog)))
    if out is None:
        typer.echo(visible_block(text), nl=False)
        return
    write_new(out, text.encode())
    progress.print(line(f"{out}: check it with: orchestrator workflow lint {out}"), soft_wrap=True)


def _write_file(mission_id: str, handle: str, out: Path) -> None:
    from orchestrator.client.stores import mission_file
    from orchestrator.settings import load_settings

    kept = run(mission_file(load_settings(), mission_id, handle))
    write_new(out, kept.content)
    progress.print(line(f"{out}: {kept}"), soft_wrap=True)
