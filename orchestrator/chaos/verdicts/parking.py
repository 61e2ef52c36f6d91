"""Whether an obligation was parked because the faults of its providers made undoing impossible.

A fault that strikes once must not end on an operator's list. Two things excuse it: a provider that
refuses the cancel in words that its document declares, and answers that stayed unclear as often as
its contract gives attempts.
"""

from collections.abc import Iterable, Sequence

from orchestrator.chaos.verdicts.evidence import HeldRequest
from orchestrator.saga.ledger import Obligation

_DOTS = 2
"""In the id of a call: mission, leg and step; what takes it back or asks about it has more."""
_LATER = frozenset({408, 425, 429})
_DEFERS = frozenset({"rate_limit"})
"""Faults that ask to come back: they use up no attempt."""
_TOLD = frozenset({"overcharge", "duplicate", "late_duplicate"})
"""Faults that leave the answer as it is."""


def why_not_parked(
    obligation: Obligation, requests: Iterable[HeldRequest], *, cuts: int = 0
) -> str | None:
    """Why a parked obligation should have been undone; None when parking it was right.

    Args:
        obligation: a parked one, or one that its contract let go.
        requests: of its mission, in the order they arrived.
        cuts: how often a worker was cut off meanwhile: an answer may have been lost each time. A
            worker's death uses up no attempt.
    """
    if obligation.cancel_tool is None:
        return None
    theirs = [r for r in requests if _is_about(r, obligation)]
    # A refusal parks at once: one after which the cancel was sent again excuses nothing any more.
    if any(_is_refused(r) for r in [r for r in theirs if _takes_back(r, obligation)][-1:]):
        return None
    unclear = sum(_is_unclear(r) for r in theirs)
    needed = obligation.cancel_max_attempts
    if unclear + _lost(theirs, cuts) >= needed:
        return None
    return (
        f"{obligation.obligation_id} is parked ({obligation.note}), and its providers were unclear "
        f"{unclear} times of the {needed} that its contract gives"
    )


def _is_about(request: HeldRequest, obligation: Obligation) -> bool:
    name, known = request.request_id or "", obligation.obligation_id
    return name == known or name.startswith(f"{known}.")


def _takes_back(request: HeldRequest, obligation: Obligation) -> bool:
    return request.operation == obligation.cancel_tool


def _is_refused(request: HeldRequest) -> bool:
    """Whether a fault made the provider refuse, as its document declares it."""
    kinds = (request.fault or "").split("+")
    told = "refuse_cancel" in kinds or "status_before" in kinds or "refuse_repeat" in kinds
    return told and request.status is not None and _is_final(request.status)


def _is_final(status: int) -> bool:
    return 400 <= status < 500 and status not in _LATER


def _is_unclear(request: HeldRequest) -> bool:
    kinds = set((request.fault or "").split("+")) - {""}
    return bool(kinds - _DEFERS - _TOLD)


def _lost(requests: Sequence[HeldRequest], cuts: int) -> int:
    """How many answers may have been lost on their way: clear ones that came to nothing."""
    undoing = [r for r in requests if r.request_id and r.request_id.count(".") > _DOTS]
    return min(cuts, sum(request.fault is None for request in undoing))
