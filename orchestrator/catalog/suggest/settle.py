"""A proposal held against the linter: nothing is proposed that it calls an error."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.catalog.lint import Finding, lint
from orchestrator.catalog.lint.contract_rules import absolute_server
from orchestrator.catalog.overlay import apply_overlays, parse_overlay
from orchestrator.catalog.suggest.overlay_text import overlay_text
from orchestrator.catalog.suggest.proposal import Proposal
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer

_ROUNDS = 4
"""What becomes a question takes its other end along; no chain of these is longer."""
_MOST_REMARKS = 5


class Settled(NamedTuple):
    """A proposal, and what the linter says of the document with it."""

    proposal: Proposal
    findings: tuple[Finding, ...]


def settle(proposal: Proposal, document: JsonObject) -> Settled:
    """Make questions of what the linter calls an error, and say what is wrong around it."""
    findings: list[Finding] = []
    for _ in range(_ROUNDS):
        findings = lint({proposal.document: applied(proposal, document)})
        wrong = dict(_errors_of(proposal, findings))
        if not wrong:
            break
        proposal = proposal.asking(wrong)
    return Settled(
        proposal.model_copy(update={"remarks": (*proposal.remarks, *_remarks(findings))}),
        tuple(findings),
    )


def applied(proposal: Proposal, document: JsonObject) -> JsonObject:
    """The document with the overlay as it is written: what is checked is what is read later."""
    overlay = parse_overlay("the proposal", load_yaml(overlay_text(proposal)))
    return apply_overlays({proposal.document: document}, [overlay]).documents[proposal.document]


def _errors_of(proposal: Proposal, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """The tools that the linter finds an error on, each with the first of them."""
    places = {format_pointer(a.place): a.tool for a in proposal.actions if not a.is_question}
    for finding in reversed(findings):
        if finding.severity != "error" or finding.code == absolute_server.code:
            # A missing server is the document's, wherever it is told: it stands at the head.
            continue
        for pointer in _around(finding.pointer):
            if pointer in places:
                yield places[pointer], f"lint: {finding.code}: {finding.message}: {finding.mend}"


def _around(pointer: str) -> Iterator[str]:
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def _remarks(findings: Sequence[Finding]) -> Iterator[str]:
    """What is wrong beside the tools, by code: only its owner can mend it, or an overlay of his."""
    errors = [finding for finding in findings if finding.severity == "error"]
    counts = Counter(finding.code for finding in errors)
    for code, count in counts.most_common(_MOST_REMARKS):
        first = next(finding for finding in errors if finding.code == code)
        yield (
            f"look at first: {code} at {first.pointer or 'the document'}: {first.message}: "
            f"{first.mend}" + (f" ({count - 1} more of {code})" if count > 1 else "")
        )
