"""The inbox: what waits for a person, first to expire first; and several approvals at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Generic, TypeVar

from starlette.responses import Response

from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.core.record import Record
from orchestrator.messages.leg import Question
from orchestrator.web import actions, sight
from orchestrator.web.pages.page import Visit, to
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sight import notices_of

PAGE_SIZE: Final = 50
_CHOSEN: Final = "card"


Item = TypeVar("Item")


@dataclass(frozen=True)
class Paged(Generic[Item]):
    """One page of a list."""

    items: Sequence[Item]
    number: int
    """Counted from 1."""
    pages: int
    total: int
    first: int
    """The place of its first item in the list, counted from 1; 0 if the list is empty."""
    last: int


def paged(items: Sequence[Item], asked: str, *, size: int) -> Paged[Item]:
    """Return the page that a query asks for; the nearest one if there is no such page."""
    pages = max(1, -(-len(items) // size))
    wanted = int(asked) if asked.isdecimal() and len(asked) < 7 else 1
    number = min(max(wanted, 1), pages)
    begin = (number - 1) * size
    part = items[begin : begin + size]
    first = begin + 1 if part else 0
    return Paged(part, number, pages, len(items), first, begin + len(part))


class Entry(Record):
    """A card or question in the list, with what the person may do."""

    card: ConfirmationCard | None = None
    question: Question | None = None
    wait_id: str
    may_decide: bool


async def show_inbox(visit: Visit) -> Response:
    """Show a page of the cards and questions, and all pauses."""
    person = visit.person
    waiting = await sight.seen_waiting(visit.service, person)
    entries = [
        Entry(card=one, wait_id=one.confirmation_id, may_decide=person.may_decide(one))
        if isinstance(one, ConfirmationCard)
        else Entry(question=one, wait_id=one.question_id, may_decide=person.may(Right.START))
        for one in waiting.in_order()
    ]
    shown: Paged[Entry] = paged(entries, visit.asked("page"), size=PAGE_SIZE)
    decided = visit.asked("approved")
    return visit.page(
        "inbox.html",
        shown=shown,
        mine=sum(one.may_decide for one in entries),
        notices=await notices_of(visit.service, [one.wait_id for one in shown.items]),
        pauses=waiting.pauses,
        stalled=waiting.stalled,
        approved=int(decided) if decided.isdecimal() and len(decided) < 4 else 0,
    )


class Reviewed(Record):
    """A chosen card, and the outcome of its approval if it was tried."""

    confirmation_id: str
    card: ConfirmationCard | None = None
    refusal: str = ""


async def review(visit: Visit) -> Response:
    """List the chosen cards with their digests, for one approval of all."""
    chosen = visit.request.query_params.getlist(_CHOSEN)[:PAGE_SIZE]
    if not chosen:
        return to()
    waiting = await sight.seen_waiting(visit.service, visit.person)
    known = {card.confirmation_id: card for card in waiting.cards}
    found = []
    for one in dict.fromkeys(chosen):
        card, refusal = known.get(one), ""
        if card is None:
            refusal = "it is no longer open"
        elif not visit.person.may_decide(card):
            refusal = "you may not decide on it"
        found.append(Reviewed(confirmation_id=one, card=card, refusal=refusal))
    return visit.page("review.html", reviewed=found, outcome=False)


async def approve_reviewed(visit: Visit) -> Response:
    """Approve each chosen card with the digest that the review showed."""
    if not visit.person.may(Right.DECIDE):
        raise ProblemError(HTTPStatus.FORBIDDEN, "None of your roles lets you decide on cards.")
    chosen = dict.fromkeys([str(one) for one in visit.form.getlist(_CHOSEN)][:PAGE_SIZE])
    approvals = [
        (Approve(confirmation_id=one, digest=visit.sent(f"digest.{one}")), "") for one in chosen
    ]
    outcomes = await actions.decide_all(visit.service, visit.person, approvals)
    if all(one.receipt for one in outcomes):
        return to(approved=len(outcomes)) if outcomes else to()
    done = [
        Reviewed(
            confirmation_id=one.confirmation_id,
            card=one.receipt.card if one.receipt else None,
            refusal=one.problem.detail if one.problem else "",
        )
        for one in outcomes
    ]
    return visit.page("review.html", status=HTTPStatus.CONFLICT, reviewed=done, outcome=True)


async def resume(visit: Visit) -> Response:
    """Retry the model of a leg that waits for its provider, change it, or give up."""
    action = visit.sent("action")
    pause = await actions.resume(
        visit.service,
        visit.person,
        visit.part("pause_id"),
        model=visit.sent("model").strip() or None if action == "model" else None,
        give_up=action == "give up",
    )
    return to("missions", pause.mission_id)
