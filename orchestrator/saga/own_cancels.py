"""Check that a leg's own cancel stays within its mission: pure.

A planner may cancel its mission's bookings without asking a person. This requires that the call is
exactly the one that would cancel one live obligation of the mission, with no other arguments. Every
other cancel is a separate consequence.
"""

from collections.abc import Collection

from orchestrator.core.record import JsonObject
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

    Args:
        ledger: the mission's, of all its legs.
        cancel: as it is going to be sent.
        answered: the inputs of the cancel that its contract fills from the provider's answer.
    """
    named = obligations_named(ledger, cancel)
    if len(named) == 1:
        return _shared(cancel, named[0], answered) or _more_than_needed(cancel, named[0])
    if named:
        meant = ", ".join(_called(o) for o in named)
        return f"It may mean any of several things that this mission made: {meant}"
    if not cancel.names:
        return "Its arguments do not tell what it means: it need not be anything of this mission"
    over = [o for o in ledger.obligations if not o.is_live and _fits(cancel, o)]
    if over:
        stands = ", ".join(f"{_called(o)} is {o.state}" for o in over)
        return f"Nothing of this mission stands under that name any more: {stands}"
    unclear = [o for o in ledger.live() if _may_turn_out_as(cancel, o)]
    if unclear:
        return f"Whether it is {', '.join(_called(o) for o in unclear)} is not known yet"
    return "This mission did not make it"


def _shared(cancel: CancelCall, meant: Obligation, answered: Collection[str]) -> str | None:
    """Return the doubt about a cancel whose names the bookings of others may share.

    Names of the obligation alone are the provider's id and the reference that the orchestrator gave
    it.
    """
    if any(n in answered or value == meant.obligation_id for n, value in cancel.names.items()):
        return None
    by = ", ".join(sorted(cancel.names))
    return f"It names {_called(meant)} only by what others may share: {by}"


def _more_than_needed(cancel: CancelCall, meant: Obligation) -> str | None:
    """Return the doubt about arguments that a rollback would not send for the named obligation."""
    known = meant.cancel_inputs
    more = [n for n, value in cancel.arguments.items() if n not in known or known[n] != value]
    if not more:
        return None
    return f"It says more than the cancel of {_called(meant)} needs: {', '.join(sorted(more))}"


def _fits(cancel: CancelCall, obligation: Obligation) -> bool:
    known: JsonObject = obligation.cancel_inputs
    return cancel.tool == obligation.cancel_tool and all(
        name in known and known[name] == value for name, value in cancel.names.items()
    )


def _may_turn_out_as(cancel: CancelCall, obligation: Obligation) -> bool:
    """Return True if a name is missing, for example before an answer, and the others agree."""
    known = obligation.cancel_inputs
    agrees = all(known[name] == value for name, value in cancel.names.items() if name in known)
    is_short = not cancel.names.keys() <= known.keys()
    return cancel.tool == obligation.cancel_tool and agrees and is_short


def _called(obligation: Obligation) -> str:
    return f"{obligation.title or obligation.tool} ({obligation.obligation_id})"
