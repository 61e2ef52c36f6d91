"""`orchestrator tools suggest`: an overlay proposed for a document that has no contract yet."""

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.options import Overlays
from orchestrator.cli.output import AsJson, console, line, print_json, progress, run
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import number_of

if TYPE_CHECKING:  # help does without them
    from orchestrator.catalog.lint import Finding
    from orchestrator.catalog.suggest.suggest import Proposal
    from orchestrator.chaos.verdicts.pair_verdict import TriedPair
    from orchestrator.core.record import JsonObject

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
    from orchestrator.catalog.suggest.suggest import overlay_text, settle
    from orchestrator.catalog.suggest.suggest import suggest as propose

    if out is not None and out.exists() and not force:
        raise UsageError(f"{out} is there already; choose another --out, or add --force")
    name, content = _read(document, overlays or ())
    settled = settle(propose(name, content, file=document.name, only=only or ()), content)
    proposal, tried = settled.proposal, tuple["TriedPair", ...]()
    if check and proposal.pairs:
        seed = secrets.randbelow(10**6) if seed is None else seed
        try:
            proposal, tried = run(_try(proposal, content, seed))
        except UsageError as error:
            untried = f"not tried in the sandbox: {error}"
            proposal = proposal.model_copy(update={"remarks": (*proposal.remarks, untried)})
    text = overlay_text(proposal)
    if out is not None:
        _write(out, text)
    if as_json:
        print_json(_as_json(proposal, settled.findings, tried, text, out))
        return
    if out is None:
        typer.echo(text, nl=False)
    _draw(console if out is not None else progress, proposal, settled.findings, tried)
    if out is not None:
        _draw_next(console, document, out)


def _read(document: Path, overlays: Sequence[Path]) -> "tuple[str, JsonObject]":
    from orchestrator.catalog.catalog import load_documents

    found = load_documents(document, overlays=overlays)
    if len(found) > 1:
        raise UsageError(f"{document} holds {len(found)} documents; name one of them")
    return next(iter(found.items()))


def _write(out: Path, text: str) -> None:
    from orchestrator.adapters.storage.files import replace_file

    try:
        replace_file(out, text.encode(), mode=0o666 & ~_umask())
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error


def _umask() -> int:
    """Return the umask of this process, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


async def _try(
    proposal: "Proposal", content: "JsonObject", seed: int
) -> tuple["Proposal", tuple["TriedPair", ...]]:
    from orchestrator.catalog.suggest.suggest import applied
    from orchestrator.chaos.verdicts.pair_verdict import judge_pairs
    from orchestrator.cli.chaos_runs import try_documents

    documents = {proposal.document: applied(proposal, content)}
    return judge_pairs(proposal, await try_documents(documents, seed=seed))


def _as_json(
    proposal: "Proposal",
    findings: Sequence["Finding"],
    tried: Sequence["TriedPair"],
    text: str,
    out: Path | None,
) -> "JsonObject":
    counts = Counter(str(finding.severity) for finding in findings)
    standing = {one.tool: one for one in tried}
    return {
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


def _draw(
    shown: Console,
    proposal: "Proposal",
    findings: Sequence["Finding"],
    tried: Sequence["TriedPair"],
) -> None:
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
        said = f" {one.tool}, cancelled by {one.cancel}{_reason(one)}"
        shown.print(line((one.standing, style), said), soft_wrap=True)
    counts = Counter(str(finding.severity) for finding in findings)
    shown.print("lint: " + ", ".join(number_of(counts[level], level) for level in _LEVELS))


def _reason(one: "TriedPair") -> str:
    if one.standing == "parks":
        return "; when its answer is lost, an operator is asked"
    return f": {one.why}" if one.why else ""


def _draw_next(shown: Console, document: Path, out: Path) -> None:
    shown.print()
    shown.print(f"read {out}, answer what it asks at `check:`, then:", soft_wrap=True)
    shown.print(f"  orchestrator tools lint {document} --overlay {out}", soft_wrap=True)
    shown.print(f"  orchestrator chaos run --specs {document} --overlay {out}", soft_wrap=True)
