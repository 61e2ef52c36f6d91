"""The inbox: what waits for a person, first to expire first; and several approvals at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Generic, TypeVar

from starlette.responses import Response
from starlette.routing import BaseRoute

from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import Record
from orchestrator.messages.leg import Question
from orchestrator.messages.open_waits import Waiting
from orchestrator.web import actions, sight
from orchestrator.web.pages.page import Visit, page, to
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sight import notices_of
from orchestrator.web.web_service import Service

PAGE_SIZE: Final = 50
_AT_ONCE: Final = 8
_CHOSEN: Final = "card"
_DIGEST: Final = "digest."
"""Begins the hidden field with the digest that a reviewed card showed."""


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

    @property
    def last(self) -> int:
        """The place of its last item."""
        return self.first + len(self.items) - 1 if self.items else 0


def paged(items: Sequence[Item], asked: str, *, size: int) -> Paged[Item]:
    """Return the page that a query asks for; the nearest one if there is no such page."""
    pages = max(1, -(-len(items) // size))
    wanted = int(asked) if asked.isdecimal() and len(asked) < 7 else 1
    number = min(max(wanted, 1), pages)
    begin = (number - 1) * size
    part = items[begin : begin + size]
    return Paged(part, number, pages, len(items), begin + 1 if part else 0)


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the inbox and of the review of several cards."""
    return [
        page(service, "/", get=show_inbox),
        page(service, "/review", get=review, post=approve_reviewed),
        page(service, "/pauses/{pause_id}", post=resume),
    ]


class Entry(Record):
    """A card or question in the list."""

    card: ConfirmationCard | None = None
    question: Question | None = None
    may_decide: bool = False

    @property
    def wait_id(self) -> str:
        """The id of the card or question."""
        if self.card is not None:
            return self.card.confirmation_id
        return "" if self.question is None else self.question.question_id


def entries_of(person: Person, waiting: Waiting) -> list[Entry]:
    """Return cards and questions, first to expire first, with what the person may do."""
    return [
        Entry(card=one, may_decide=person.may_decide(one))
        if isinstance(one, ConfirmationCard)
        else Entry(question=one, may_decide=person.may(Right.START))
        for one in waiting.in_order()
    ]


async def show_inbox(visit: Visit) -> Response:
    """Show a page of the cards and questions, and all pauses."""
    waiting = await sight.seen_waiting(visit.service, visit.person)
    entries = entries_of(visit.person, waiting)
    shown: Paged[Entry] = paged(entries, visit.asked("page"), size=PAGE_SIZE)
    mine = sum(one.may_decide for one in entries)
    decided = visit.asked("approved")
    return visit.page(
        "inbox.html",
        shown=shown,
        mine=mine,
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
    is_done: bool = False


async def review(visit: Visit) -> Response:
    """List the chosen cards with their digests, for one approval of all."""
    chosen = visit.request.query_params.getlist(_CHOSEN)[:PAGE_SIZE]
    if not chosen:
        return to()
    found = await _found(visit, list(dict.fromkeys(chosen)))
    return visit.page("review.html", reviewed=found, outcome=False)


async def _found(visit: Visit, ids: list[str]) -> list[Reviewed]:
    waiting = await sight.seen_waiting(visit.service, visit.person)
    known = {card.confirmation_id: card for card in waiting.cards}
    return [_reviewable(visit.person, one, known.get(one)) for one in ids]


def _reviewable(person: Person, wanted: str, card: ConfirmationCard | None) -> Reviewed:
    if card is None:
        return Reviewed(confirmation_id=wanted, refusal="it is no longer open")
    refusal = "" if person.may_decide(card) else "you may not decide on it"
    return Reviewed(confirmation_id=wanted, card=card, refusal=refusal)


async def approve_reviewed(visit: Visit) -> Response:
    """Approve each chosen card with the digest that the review showed."""
    if not visit.person.may(Right.DECIDE):
        raise ProblemError(HTTPStatus.FORBIDDEN, "None of your roles lets you decide on cards.")
    chosen = [str(one) for one in visit.form.getlist(_CHOSEN)][:PAGE_SIZE]
    places = asyncio.Semaphore(_AT_ONCE)

    async def approve(confirmation_id: str) -> Reviewed:
        digest = visit.sent(_DIGEST + confirmation_id)
        decision = Approve(confirmation_id=confirmation_id, digest=digest)
        async with places:
            try:
                receipt = await actions.decide(visit.service, visit.person, decision)
            except (ProblemError, OrchestratorError) as refused:
                return Reviewed(confirmation_id=confirmation_id, refusal=str(refused))
        return Reviewed(confirmation_id=confirmation_id, card=receipt.card, is_done=True)

    done = await asyncio.gather(*map(approve, dict.fromkeys(chosen)))
    if all(one.is_done for one in done):
        return to(approved=len(done)) if done else to()
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
