"""What `orchestrator confirm approve` asks, and what it sends."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from orchestrator.confirmation import models
from orchestrator.confirmation.models import ConfirmationCard, Decision, DecisionReceipt
from orchestrator.core.budget import Money
from orchestrator.core.errors import CardUnknown, MissionNotFound
from orchestrator.messages.leg import Question
from tests.unit.cards import open_card

ConnectTo = Callable[[object], None]

Run = Callable[..., Any]

CARD = open_card(
    "m.1-dinner.2",
    "shop_place_order",
    "structured-order",
    title="Order an article",
    price=Money(amount=Decimal(36), currency="EUR"),
)


class Client:
    """Shows one card, and keeps the digests that were approved."""

    def __init__(self) -> None:
        self.approved: list[str] = []
        self.reads = 0

    async def confirmation(self, _: str) -> ConfirmationCard:
        # A second reader would see another card.
        self.reads += 1
        return CARD.model_copy(update={"digest": f"{self.reads:064}"})

    async def decide(self, decision: Decision) -> DecisionReceipt:
        assert isinstance(decision, models.Approve)
        self.approved.append(decision.digest)
        at = datetime(2026, 11, 21, tzinfo=UTC)
        return DecisionReceipt(confirmation_id=decision.confirmation_id, accepted="approved", at=at)


@pytest.fixture
def client(connect_to: Callable[[Any], Any]) -> Any:
    return connect_to(Client())


@pytest.fixture
def approve(run_typed: Callable[..., tuple[int, str]]) -> Callable[..., tuple[int, str]]:
    """Runs the command as a person does who types this, or in a script."""
    return partial(run_typed, "confirm", "approve", "m.1-dinner.2")


Approve = Callable[..., Any]


def test_a_person_is_shown_the_card_and_asked(client: Client, approve: Approve) -> None:
    """A yes sends the digest of exactly the card that was shown, which is read once."""
    code, shown = approve(typed="y\n")

    assert code == 0
    assert shown.index("Order an article") < shown.index("for 36.00 EUR? [y/N]")
    assert client.approved == [f"{1:064}"]
    assert client.reads == 1


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_sent(typed: str, client: Client, approve: Approve) -> None:
    code, _ = approve(typed=typed)

    assert code == 1
    assert client.approved == []


@pytest.mark.parametrize(
    ("arguments", "typed"), [((), None), (("--json",), None), (("--json",), "y\n")]
)
def test_a_script_has_to_give_the_digest(
    arguments: tuple[str, ...], typed: str | None, client: Client, approve: Approve
) -> None:
    """Nothing is sent, nor read; --json is for a program, also at a terminal."""
    code, shown = approve(*arguments, typed=typed)

    assert (code, client.approved, client.reads) == (2, [], 0)
    assert "--digest" in shown


def test_a_given_digest_is_sent_unread(client: Client, approve: Approve) -> None:
    """The server refuses it when the card shows another by now."""
    code, _ = approve("--digest", "cd" * 32)

    assert (code, client.approved, client.reads) == (0, ["cd" * 32], 0)


ASKED = Question(
    question_id="m.1-dinner.3",
    mission_id="m",
    leg_id="1-dinner",
    question="When?",
    fields={"day": {"type": "string", "format": "date"}},
)


@pytest.mark.parametrize("asked_id", [CARD.confirmation_id, ASKED.question_id])
def test_an_id_of_the_list_is_shown(asked_id: str, run: Run, connect_to: ConnectTo) -> None:
    class Both(Client):
        async def confirmation(self, confirmation_id: str) -> ConfirmationCard:
            if confirmation_id != CARD.confirmation_id:
                raise CardUnknown(confirmation_id, "no such confirmation is open")
            return CARD

        async def question(self, _: str) -> Question:
            return ASKED

    connect_to(Both())

    assert asked_id in run("confirm", "show", asked_id).stdout
    assert asked_id in run("confirm", "show", asked_id, "--json").stdout


@pytest.mark.parametrize("words", ["mission show", "mission export", "rollback show"])
def test_a_mission_is_named_by_any_id_of_it(words: str, run: Run, connect_to: ConnectTo) -> None:
    """Of a card, a question or an obligation, as lists print them."""
    named = []

    class Missing(Client):
        def get(self, mission_id: str) -> object:
            named.append(mission_id)
            raise MissionNotFound(mission_id)

        record = rollback_report = get

    connect_to(Missing())
    run(*words.split(), "m.1-dinner.2")

    assert named == ["m"]
