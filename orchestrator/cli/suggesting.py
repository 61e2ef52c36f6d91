"""`orchestrator tools suggest`: an overlay proposed for a document that has no contract yet."""

import os
import secrets
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import Overlays
from orchestrator.cli.output import AsJson, console, line, print_json, progress, run
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import number_of

if TYPE_CHECKING:  # help does without them
    from orchestrator.chaos.verdicts.pair_verdict import TriedPair

_LEVELS = ("error", "warning", "note")
_MOST_SHOWN = 12

Document = Annotated[Path, typer.Argument(metavar="DOC", help="An OpenAPI file.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="PATH|TAG",
        help="Operations below this path or with this tag; repeatable.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the overlay there.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file of --out.")]
Check = Annotated[
    bool, typer.Option("--check", help="Try each proposed pair in the sandbox; a minute or more.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of --check; random unless given.")]


def suggest(
    document: Document,
    only: Only = None,
    out: Out = None,
    force: Force = False,
    check: Check = False,
    seed: Seed = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Propose an overlay that marks tools and their cancel tools.

    Facts of the document are written as facts, all else as a comment for you to decide. The file
    has no effect before you pass it as --overlay.

    Example: orchestrator tools suggest crm.yaml --only /visits --out crm-tools.yaml --check
    """
    from orchestrator.adapters.storage.files import replace_file
    from orchestrator.catalog.catalog import load_documents
    from orchestrator.catalog.suggest.suggest import applied, overlay_text, settle
    from orchestrator.catalog.suggest.suggest import suggest as propose

    if out is not None and out.exists() and not force:
        raise UsageError(f"{out} is there already; choose another --out, or add --force")
    found = load_documents(document, overlays=overlays or ())
    if len(found) > 1:
        raise UsageError(f"{document} holds {len(found)} documents; name one of them")
    ((name, content),) = found.items()
    settled = settle(propose(name, content, file=document.name, only=only or ()), content)
    proposal, tried = settled.proposal, tuple["TriedPair", ...]()
    if check and proposal.pairs:
        seed = secrets.randbelow(10**6) if seed is None else seed
        try:
            from orchestrator.chaos.verdicts.pair_verdict import judge_pairs
            from orchestrator.cli.chaos_runs import try_documents

            documents = {proposal.document: applied(proposal, content)}
            proposal, tried = judge_pairs(proposal, run(try_documents(documents, seed=seed)))
        except UsageError as error:
            untried = f"not tried in the sandbox: {error}"
            proposal = proposal.model_copy(update={"remarks": (*proposal.remarks, untried)})
    text = overlay_text(proposal)
    if out is not None:
        mask = os.umask(0)  # it can only be read by setting it
        os.umask(mask)
        try:
            replace_file(out, text.encode(), mode=0o666 & ~mask)
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    counts = Counter(str(finding.severity) for finding in settled.findings)
    if as_json:
        standing = {one.tool: one for one in tried}
        return print_json(
            {
                "document": proposal.document,
                "operations": proposal.operations,
                "marked_before": proposal.marked_before,
                "marked": proposal.marked,
                "questions": proposal.questions,
                "pairs": [pair.model_dump(mode="json") for pair in proposal.pairs],
                "tried": [one.model_dump(mode="json") for one in standing.values()],
                "left_out": list(proposal.left_out),
                "look_at_first": list(proposal.remarks),
                "lint": {level: counts[level] for level in _LEVELS},
                "out": str(out) if out is not None else None,
                "overlay": text,
            }
        )
    if out is None:
        typer.echo(text, nl=False)
    shown = console if out is not None else progress
    before = f", {proposal.marked_before} marked before" if proposal.marked_before else ""
    shown.print(
        f"{number_of(proposal.operations, 'operation')}{before}: {proposal.marked} marked, "
        f"{proposal.questions} left as questions; rollback pairs: {len(proposal.pairs)}"
    )
    for left in proposal.left_out[:_MOST_SHOWN]:
        shown.print(f"left out: {left}", soft_wrap=True)
    for remark in proposal.remarks:
        shown.print(remark, soft_wrap=True)
    for one in tried:
        style = {"held": "green", "parks": "green", "failed": "red"}.get(one.standing, "yellow")
        reason = f": {one.why}" if one.why else ""
        if one.standing == "parks":
            reason = "; when its answer is lost, an operator is asked"
        said = f" {one.tool}, cancelled by {one.cancel}{reason}"
        shown.print(line((one.standing, style), said), soft_wrap=True)
    shown.print("lint: " + ", ".join(number_of(counts[level], level) for level in _LEVELS))
    if out is not None:
        shown.print()
        shown.print(f"read {out}, answer what it asks at `check:`, then:", soft_wrap=True)
        shown.print(f"  orchestrator tools lint {document} --overlay {out}", soft_wrap=True)
        shown.print(f"  orchestrator chaos run --specs {document} --overlay {out}", soft_wrap=True)
