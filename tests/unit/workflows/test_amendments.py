"""What an amendment may say is decided before it enters history."""

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.confirmation.models import Amend, ConfirmationCard
from orchestrator.core.record import JsonObject
from orchestrator.workflows.confirmation import check_amendment
from tests.unit.cards import open_card

CARD = open_card(
    "m.l.1",
    "book",
    "structured-itinerary",
    title="Book",
    arguments={"seat": "12A"},
    personal=("traveler_email",),
    inputs=("seat", "traveler_email", "contact"),
)
OPEN = CARD.model_copy(update={"inputs": None})
"""Of a tool that takes anything, or as an older worker drew it."""


def amended(changes: JsonObject) -> Amend:
    return Amend(confirmation_id="m.l.1", changes=changes, approver="ann")


@pytest.mark.parametrize("card", [CARD, OPEN])
@pytest.mark.parametrize(
    "changes",
    [
        {"seat": "14C"},
        {"traveler_email": "pii:traveler_email"},
        {"contact": {"traveler_email": "pii:traveler_email"}},
        {"seat": "ada@example.com"},
    ],
)
def test_inputs_of_the_tool_may_be_changed(card: ConfirmationCard, changes: JsonObject) -> None:
    """What an input that is not personal holds is for its schema to say."""
    check_amendment(amended(changes), card)


@pytest.mark.parametrize(
    ("card", "changes", "kind"),
    [
        (CARD, {"travler_email": "ada@x"}, "AmendmentInvalid"),
        (CARD, {"traveler_email": "ada@x"}, "PersonalValueSent"),
        (CARD, {"contact": [{"traveler_email": "ada@x"}]}, "PersonalValueSent"),
        (OPEN, {"travler_email": "ada@x"}, "PersonalValueSent"),
        (OPEN, {"contact": {"traveler_email": "ada@x"}}, "PersonalValueSent"),
    ],
)
def test_personal_values_are_refused(
    card: ConfirmationCard, changes: JsonObject, kind: str
) -> None:
    """Under a mistyped name, bare, or deep inside; the refusal names the field alone."""
    with pytest.raises(ApplicationError) as refused:
        check_amendment(amended(changes), card)
    assert refused.value.type == kind
    assert "ada" not in str(refused.value)
