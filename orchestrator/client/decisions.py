"""Decisions of people on cards, sent to the legs that wait for them."""

from orchestrator.client.connection import Connection
from orchestrator.client.waiting_legs import leg_of
from orchestrator.confirmation.models import Decision, DecisionEnvelope, DecisionReceipt
from orchestrator.messages import names


async def send_decision(connection: Connection, decision: Decision) -> DecisionReceipt:
    """Decide on an open card.

    Raises:
        ConfirmationError: of the kind that says why it was refused; nothing changed.
        NoWorker: nobody would take it, so that it was not sent; or nobody answered in time.
    """
    return await connection.update(
        leg_of(decision.confirmation_id),
        names.DECIDE_UPDATE,
        DecisionEnvelope(decision=decision),
        DecisionReceipt,
        about=decision.confirmation_id,
    )
