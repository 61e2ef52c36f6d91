"""Whether a leg's own cancel stays within its mission: pure.

A planner may cancel what its mission made, and nobody is asked. It is so when the call is the very
one that would undo exactly one live obligation of the mission, and says nothing beside. All else is
a consequence of its own.
"""

from collections.abc import Collection

from orchestrator.core.record import JsonObject
from orchestrator.saga.ledger import CancelCall, Ledger, Obligation


def obligations_named(ledger: Ledger, cancel: CancelCall) -> tuple[Obligation, ...]:
    """The live obligations of a mission that a cancel names, in the order written."""
    return tuple(o for o in ledger.live() if cancel.means(o))


def doubt_about(ledger: Ledger, cancel: CancelCall, answered: Collection[str]) -> str | None:
    """Why a cancel is not plainly of the mission's own; None when it is.

    Args:
        ledger: the mission's, of all its legs.
        cancel: as it is going to be sent.
        answered: the inputs of the cancel that its contract fills from the provider's answer.
    """
    named = obligations_named(ledger, cancel)
    if len(named) == 1:
        return _shared(cancel, named[0], answered) or _beside(cancel, named[0])
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
        return f"Whether it is {', '.join(_called(o) for o in unclear)} cannot be told yet"
    return "This mission did not make it"


def _shared(cancel: CancelCall, meant: Obligation, answered: Collection[str]) -> str | None:
    """By what a cancel names an obligation, when what others made may be named so as well.

    Its own are an id that the provider gave it, and the reference that the orchestrator gave it.
    """
    if any(n in answered or value == meant.obligation_id for n, value in cancel.names.items()):
        return None
    by = ", ".join(sorted(cancel.names))
    return f"It names {_called(meant)} only by what others may share: {by}"


def _beside(cancel: CancelCall, meant: Obligation) -> str | None:
    """What a cancel says that rollback would not say of the one obligation it names."""
    known = meant.undo_arguments
    more = [n for n, value in cancel.arguments.items() if n not in known or known[n] != value]
    if not more:
        return None
    return f"It says more than what would undo {_called(meant)}: {', '.join(sorted(more))}"


def _fits(cancel: CancelCall, obligation: Obligation) -> bool:
    known: JsonObject = obligation.undo_arguments
    return cancel.tool == obligation.cancel_tool and all(
        name in known and known[name] == value for name, value in cancel.names.items()
    )


def _may_turn_out_as(cancel: CancelCall, obligation: Obligation) -> bool:
    """Whether a name is missing, as of a call that was not answered, and the others agree."""
    known = obligation.undo_arguments
    agrees = all(known[name] == value for name, value in cancel.names.items() if name in known)
    lacks_one = not cancel.names.keys() <= known.keys()
    return cancel.tool == obligation.cancel_tool and agrees and lacks_one


def _called(obligation: Obligation) -> str:
    return f"{obligation.title or obligation.tool} ({obligation.obligation_id})"
