"""Check that a leg's own cancel stays within its mission: pure.

A planner may cancel its mission's bookings without asking a person. This requires that the call is
exactly the one that would cancel one live obligation of the mission, with no other arguments. Every
other cancel is a separate consequence.
"""

from collections.abc import Collection

from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation


def obligations_named(ledger: Ledger, cancel: CancelCall) -> tuple[Obligation, ...]:
    """Return the live obligations of a mission that a cancel names, in the order written."""
    return tuple(o for o in ledger.live() if cancel.means(o))


def cancellable(ledger: Ledger) -> Ledger:
    """Return the obligations that have a cancel tool, short: without arguments and answers."""
    rest: dict[str, object] = {
        "arguments": {},
        "essence": "",
        "response": None,
        "response_headers": {},
        "follow_ups": (),
        "agreed": {},
    }
    kept = (o.model_copy(update=rest) for o in ledger.obligations if o.cancel_tool is not None)
    return Ledger(obligations=tuple(kept))


def doubt_about(ledger: Ledger, cancel: CancelCall, answered: Collection[str]) -> str | None:
    """Return why a cancel may reach beyond its mission; None if it plainly does not.

    `answered` are the inputs of the cancel that its contract fills from the provider's answer.
    """
    named = obligations_named(ledger, cancel)
    if len(named) == 1:
        (meant,) = named
        # Alone it has the provider's id, and the reference that the orchestrator gave it.
        own = (n for n, v in cancel.names.items() if n in answered or v == meant.obligation_id)
        if next(own, None) is None:
            by = ", ".join(sorted(cancel.names))
            return f"It names {_called(meant)} only by what others may share: {by}"
        known = meant.cancel_inputs
        more = [n for n, v in cancel.arguments.items() if n not in known or known[n] != v]
        if not more:
            return None
        return f"It says more than the cancel of {_called(meant)} needs: {', '.join(sorted(more))}"
    if named:
        listed = ", ".join(_called(o) for o in named)
        return f"It may mean any of several things that this mission made: {listed}"
    if not cancel.names:
        return "Its arguments do not tell what it means: it need not be anything of this mission"

    def agrees(o: Obligation, *, whole: bool) -> bool:
        shared = cancel.names.keys() & o.cancel_inputs.keys()
        is_same = all(o.cancel_inputs[name] == cancel.names[name] for name in shared)
        is_whole = len(shared) == len(cancel.names)
        return cancel.tool == o.cancel_tool and is_same and is_whole is whole

    over = [o for o in ledger.obligations if not o.is_live and agrees(o, whole=True)]
    if over:
        stands = ", ".join(f"{_called(o)} is {o.state}" for o in over)
        return f"Nothing of this mission stands under that name any more: {stands}"
    unclear = [o for o in ledger.live() if agrees(o, whole=False)]  # before an answer, perhaps
    if unclear:
        return f"Whether it is {', '.join(_called(o) for o in unclear)} is not known yet"
    return "This mission did not make it"


def _called(obligation: Obligation) -> str:
    return f"{obligation.title or obligation.tool} ({obligation.obligation_id})"
