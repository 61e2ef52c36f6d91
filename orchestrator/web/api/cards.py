"""Cards: list, show, decide on one or on several."""

from http import HTTPStatus
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, TypeAdapter

from orchestrator.confirmation.models import MOST_TEXT, Decision, DecisionReceipt, Then
from orchestrator.confirmation.same_again import AgainRecord
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.web import actions, sight
from orchestrator.web.api.list_pages import PageQuery, by_expiry, page_of
from orchestrator.web.api_operations import Call, Operations
from orchestrator.web.people import Right
from orchestrator.web.sight import forbidden, requester_of, seen_mission
from orchestrator.web.views import CardView, DecisionOutcome, card_view

_ANY_DECISION: Final[TypeAdapter[Decision]] = TypeAdapter(Decision)
api: Final = Operations("cards")
ReadDigest = Annotated[
    str,
    Field(
        pattern=r"^([0-9a-f]{64})?$",
        description="the digest of the card that was read; refused if another card is open; "
        "empty: any",
    ),
]


class _Given(Record):
    """A decision of the caller."""

    issuer: str = Field(default="", max_length=400, description="of a signature of one's own")
    signature: str = Field(default="", max_length=8_000, description="compact JWS of the decision")

    def decision(self, card_id: str) -> Decision:
        """Return the decision about a card."""
        unsigned = set() if self.signature else {"issuer"}
        parts = {name: part for name, part in self if name not in unsigned}
        return _ANY_DECISION.validate_python({**parts, "confirmation_id": card_id})


class ApproveCard(_Given):
    """Approves the call exactly as the card with this digest shows it."""

    kind: Literal["approve"]
    digest: str = Field(
        pattern=r"^[0-9a-f]{64}$", description="the digest of the card that was read"
    )


class AmendCard(_Given):
    """Changes arguments of the call; leads to a new card, which has to be approved."""

    kind: Literal["amend"]
    changes: JsonObject = Field(description="new values of arguments, by name")
    digest: ReadDigest = ""


class RejectCard(_Given):
    """Refuses the call, and states the consequence."""

    kind: Literal["reject"]
    reason: str = Field(max_length=MOST_TEXT, description="for the planner and the record")
    then: Then = Field(
        default="replan",
        description="replan: the planner looks for another way; skip: this part of the goal is "
        "left out; rollback: the mission ends, and all that it did is rolled back",
    )
    digest: ReadDigest = ""


class RespondToCard(_Given):
    """Sends the call back: the planner decides again, with a hint that it reads as data."""

    kind: Literal["respond"]
    text: str = Field(
        pattern=r"\S", max_length=MOST_TEXT, description="the change wanted, as: a later flight"
    )
    digest: ReadDigest = ""


CardDecision = Annotated[
    ApproveCard | AmendCard | RejectCard | RespondToCard, Field(discriminator="kind")
]


class DecisionOn(Record):
    """A decision, and the card that it is about."""

    confirmation_id: str = Field(max_length=400)
    decision: CardDecision


class Decisions(Record):
    """Several decisions, each about one card."""

    decisions: tuple[DecisionOn, ...] = Field(min_length=1, max_length=100)


class DecisionOutcomes(Record):
    """The outcome of each decision, in the order of the request."""

    outcomes: tuple[DecisionOutcome, ...]


class CardQuery(PageQuery):
    """Which cards to list."""

    mission_id: str | None = Field(default=None, max_length=200, description="only of this mission")
    decidable: bool = Field(default=False, description="only cards that the caller may decide")


class CardPage(Record):
    """Some open cards, the first to expire first."""

    cards: tuple[CardView, ...] = ()
    next: str | None = Field(default=None, description="the cursor of the next page")


@api.get("/cards")
async def list_cards(call: Call[None, CardQuery]) -> CardPage:
    """Return open cards that the caller sees, the first to expire first."""
    waiting = await sight.seen_waiting(call.service, call.person)
    wanted, person = call.query, call.person
    cards = [card for card in waiting.cards if wanted.mission_id in (None, card.mission_id)]
    if wanted.decidable:
        cards = [card for card in cards if person.may_decide(card)]
    page, following = page_of(cards, wanted, by_expiry)
    views = tuple(card_view(card, person) for card in page)
    return CardPage(cards=views, next=following)


@api.get("/cards/{confirmation_id}")
async def show_card(call: Call[None, None]) -> CardView:
    """Return one open card."""
    card_id = call.part("confirmation_id")
    return card_view(await sight.seen_card(call.service, call.person, card_id), call.person)


@api.post(
    "/cards/{confirmation_id}/decision",
    Right.DECIDE,
    description="An approval names the digest of the card that was read, and approves exactly "
    "that call, once. A refused decision changes nothing.",
    body=CardDecision,
    problems=(HTTPStatus.CONFLICT,),
)
async def decide_card(call: Call[CardDecision, None]) -> DecisionReceipt:
    """Approve, amend, respond to or reject a card."""
    decision = call.body.decision(call.part("confirmation_id"))
    return await actions.decide(call.service, call.person, decision, read=call.body.digest)


@api.post(
    "/decisions",
    Right.DECIDE,
    description="Each has an outcome of its own, in the order of the request; one that is "
    "refused changes nothing for the others.",
    timeout_s=600.0,
)
async def decide_cards(call: Call[Decisions, None]) -> DecisionOutcomes:
    """Decide on several cards, each by its own digest."""
    wanted = [
        (one.decision.decision(one.confirmation_id), one.decision.digest)
        for one in call.body.decisions
    ]
    outcomes = await actions.decide_all(call.service, call.person, wanted)
    return DecisionOutcomes(outcomes=tuple(outcomes))


class Revocation(BaseModel):
    """Why a rule ends."""

    reason: str = Field(default="", max_length=2000, description="for the record")


@api.post("/cards/{confirmation_id}/revocation", Right.READ)
async def revoke_rule(call: Call[Revocation, None]) -> AgainRecord:
    """End the rule that an approval made for later calls.

    Who may decide on cards, or change the mission, may.
    """
    rule_id, person = call.part("confirmation_id"), call.person
    mission_id = names.mission_of(rule_id)
    await seen_mission(call.service, person, mission_id)
    requester = await requester_of(call.service, mission_id)
    if not (person.may(Right.DECIDE) or person.may_change(requester)):
        raise forbidden(person, "revoke its rules")
    return await call.service.client.revoke(rule_id, by=person.subject, reason=call.body.reason)
