"""The missions, cards, questions and parked obligations that a person may see.

A mission that the person does not see is not found, never forbidden: MissionNotFound, CardUnknown
for its cards, QuestionError for its questions.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client import waits
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.mission_list import MissionSummary, missions_named, summaries
from orchestrator.client.mission_pages import MissionFilter, MissionPage
from orchestrator.client.mission_rollback import RollbackPreview
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import errors
from orchestrator.core.errors import StoreRefused, StoreUnavailable
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.events import AnyEvent
from orchestrator.messages.leg import Question
from orchestrator.messages.notice import NoticeOfCard, notice_of_records
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.rollback import ParkedRollback
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.views import MissionView, Obstacle
from orchestrator.web.web_service import Service

_NO_CARD: Final = "no such confirmation is open"
_OTHERS: Final = "others."
"""Prefix of cursors into the missions of others whose cards the caller may decide."""


def forbidden(person: Person, what: str) -> ProblemError:
    """Return the problem for a person without the right to an action, such as "cancel it"."""
    detail = f"{person.subject} may not {what}"
    return ProblemError(HTTPStatus.FORBIDDEN, detail, code="RightMissing")


async def requester_of(service: Service, mission_id: str) -> str:
    """Return the requester of a mission, from its search attribute; empty if it states none."""
    found = await service.client.connection.mission(mission_id)
    return found.typed_search_attributes.get(REQUESTER) or ""


async def seen_mission(service: Service, person: Person, mission_id: str) -> MissionHandle:
    """Return a mission that the person sees: their own, or one with a card that they may decide.

    The server may know it no longer: methods of the handle then raise MissionNotFound.
    """
    handle = service.client.get(mission_id)
    if person.sees_all or person.owns(await requester_of(service, mission_id)):
        return handle
    if any(person.may_decide(card) for card in await handle.confirmations()):
        return handle
    raise errors.MissionNotFound(mission_id)


async def seen_view(service: Service, person: Person, mission_id: str) -> MissionView:
    """Return a mission as it is now, with what it waits for."""
    handle = await seen_mission(service, person, mission_id)
    now = await handle.now()
    why, result = now.obstacle, now.result
    view = MissionView(
        waits=now.waits,
        may_change=person.may_change(now.requester),
        obstacle=None if why is None else Obstacle(code=why.code, detail=str(why)),
        progress=now.progress,
    )
    if isinstance(result, errors.EventsUnreadable):
        known = await service.client.known(mission_id, why=str(result))
        return view.model_copy(update={"known": known})
    found = {"result": result, "follow_ups": result.follow_ups, "files": result.files}
    return view.model_copy(update=found)


async def seen_missions(
    service: Service,
    person: Person,
    wanted: MissionFilter,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> MissionPage:
    """Return a page of the missions that the person sees.

    A person who does not see all gets the missions of others first whose cards they may decide.
    """
    if person.sees_all:
        return await service.client.mission_page(wanted, limit=limit, cursor=cursor)
    found: list[MissionSummary] = []
    if cursor is None or cursor.startswith(_OTHERS):
        after, cursor = (cursor or "").removeprefix(_OTHERS), None
        if person.may(Right.DECIDE):
            cards = [c for c in (await service.client.waiting()).cards if c.mission_id > after]
            others = [c for c in cards if person.may_decide(c) and not person.owns(c.requester)]
            ids = sorted({card.mission_id for card in others})
            connection = service.client.connection
            missions = await missions_named(connection, ids, also=wanted.conditions)
            lines = filter(wanted.fits, await summaries(connection, missions))
            found = sorted(lines, key=lambda one: one.mission_id)[:limit]
    if len(found) == limit:
        return MissionPage(missions=tuple(found), next=f"{_OTHERS}{found[-1].mission_id}")
    if wanted.requester is not None and not person.owns(wanted.requester):
        return MissionPage(missions=tuple(found))
    own = replace(wanted, requester=person.subject)
    page = await service.client.mission_page(own, limit=limit - len(found), cursor=cursor)
    return page.model_copy(update={"missions": (*found, *page.missions)})


async def changeable_mission(
    service: Service, person: Person, mission_id: str, what: str
) -> MissionHandle:
    """Return a mission that the person may answer, cancel or roll back.

    If they may not, the ProblemError names the action in these words: "cancel it".
    """
    handle = await seen_mission(service, person, mission_id)
    if not person.may_change(await requester_of(service, mission_id)):
        raise forbidden(person, f"{what}: {mission_id} is a mission of somebody else")
    return handle


async def seen_waiting(service: Service, person: Person) -> Waiting:
    """Return the cards, questions and pauses that the person sees, first to expire first."""
    everything = await service.client.waiting()
    if person.sees_all:
        return everything
    own = await service.client.waiting(requester=person.subject)
    known = {card.confirmation_id for card in own.cards}
    cards = (c for c in everything.cards if c.confirmation_id in known or person.may_decide(c))
    return own.model_copy(update={"cards": tuple(cards)})


async def seen_card(service: Service, person: Person, confirmation_id: str) -> ConfirmationCard:
    """Return an open card that the person sees."""
    try:
        card = await service.client.confirmation(confirmation_id)
    except errors.CardUnknown:
        # Its reason names other cards of the mission: for those alone who see the mission.
        if await sees(service, person, names.mission_of(confirmation_id)):
            raise
        raise errors.CardUnknown(confirmation_id, _NO_CARD) from None
    if person.sees_all or person.owns(card.requester) or person.may_decide(card):
        return card
    raise errors.CardUnknown(confirmation_id, _NO_CARD)


async def seen_question(service: Service, person: Person, question_id: str) -> Question:
    """Return an open question that the person sees."""
    question = None
    with suppress(errors.CardUnknown):  # the id has another form
        question = await service.client.question(question_id)
    if question is not None and (
        person.sees_all or person.owns(await requester_asked(service, question_id))
    ):
        return question
    raise errors.QuestionError(question_id, "no such question is open", code="QuestionUnknown")


async def requester_asked(service: Service, asked_id: str) -> str:
    """Return the requester of the mission, saga or session that asks."""
    return await waits.requester_of(service.client.connection, waits.mission_of(asked_id))


async def seen_events(
    service: Service, person: Person, *, after: str | None, follow: bool = True
) -> AsyncGenerator[AnyEvent, None]:
    """Yield cards, decisions and questions of all that the person sees, as they occur."""
    seen: set[str] = set()
    if follow:
        events = service.feed.follow(service.client, after=after)
    else:
        events = service.client.events(after=after, follow=False)
    async with aclosing(events):
        async for event in events:
            if event.mission_id not in seen:
                # Not remembered when it is not seen: a card may open that the person may decide.
                if not await sees(service, person, event.mission_id):
                    continue
                seen.add(event.mission_id)
            yield event


async def is_mission(service: Service, mission_id: str) -> bool:
    """Return False for a saga with an open wait, also that of a session: it has no page."""
    return await waits.workflow_with(service.client.connection, mission_id) == mission_id


async def sees(service: Service, person: Person, mission_id: str) -> bool:
    """Return True if there is such a mission or saga, and the person sees it."""
    connection = service.client.connection
    try:
        workflow_id = await waits.workflow_with(connection, mission_id)
        if workflow_id == mission_id:
            await seen_mission(service, person, mission_id)
            return True
        found = await connection.describe(workflow_id)
    except errors.MissionNotFound:
        return False
    owner = found.typed_search_attributes.get(REQUESTER) or ""
    cards = (await waits.waits_in(found)).cards
    return person.sees_all or person.owns(owner) or any(map(person.may_decide, cards))


async def seen_preview(service: Service, person: Person, mission_id: str) -> RollbackPreview:
    """Return what a rollback of a mission that is over would cancel; nothing is started."""
    await seen_mission(service, person, mission_id)
    return await service.client.rollback_preview(mission_id)


async def seen_record(service: Service, person: Person, mission_id: str) -> JsonObject:
    """Return the audit record of a mission that is over."""
    return await (await seen_mission(service, person, mission_id)).record()


async def parked(service: Service, person: Person) -> list[ParkedRollback]:
    """Return the rollbacks with parked obligations that the person sees."""
    found = await service.client.parked()
    if person.sees_all:
        return found
    return [one for one in found if await sees(service, person, one.mission_id)]


async def notice_of(service: Service, wait_id: str) -> NoticeOfCard | None:
    """Return how the announcement of a card that the person sees stands; None: as `notices_of`."""
    return (await notices_of(service, [wait_id])).get(wait_id)


async def notices_of(service: Service, wait_ids: Sequence[str]) -> Mapping[str, NoticeOfCard]:
    """Return how the announcements of cards and questions stand, whose person sees them.

    One is missing if this installation announces nothing or its store does not answer.
    """
    if service.store is None or service.settings.notices is None:
        return {}
    try:
        found = await asyncio.to_thread(service.store.notices.of_waits, wait_ids)
    except (StoreUnavailable, StoreRefused):
        return {}  # a page of cards must not fail for it
    return {wait_id: notice_of_records(records) for wait_id, records in found.items()}
