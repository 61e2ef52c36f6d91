"""Whether a prepared call may be made: its price is set aside, and who must confirm it has."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import Reject
    from orchestrator.messages.tool_call import PreparedCall
    from workflows.asking import Asking
    from workflows.confirmation import grant_of
    from workflows.reservations import Reservations


class CallRefused(Exception):
    """The budget or a person is against the call; its text is a sentence."""


async def permit(
    prepared: PreparedCall, *, reservations: Reservations, asking: Asking
) -> PreparedCall:
    """The call as it may be made: as people have amended it, and with its grant.

    Raises:
        CallRefused: it may not be made.
        NotConfirmed: nobody decided in time.
    """
    await _set_aside(prepared, reservations)
    if prepared.card is None:
        return prepared
    verdict, decided = await asking.about(prepared)
    if isinstance(verdict, Reject):
        raise CallRefused(f"{verdict.approver} rejected it: {verdict.reason}")
    if decided.price != prepared.price:
        await _set_aside(decided, reservations)
    assert decided.call is not None
    call = decided.call.model_copy(update={"grant": grant_of(verdict, workflow.now())})
    return decided.model_copy(update={"call": call})


async def _set_aside(prepared: PreparedCall, reservations: Reservations) -> None:
    refusal = await reservations.reserve(prepared)
    if refusal is not None:
        raise CallRefused(refusal)
