"""Actions of people through the API and the inbox; each function checks its caller's rights.

A mission that the caller may not see is reported as not found, never as forbidden.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from pydantic import JsonValue

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.waits import Understood, send_answer
from orchestrator.confirmation.models import (
    Approve,
    Decision,
    DecisionReceipt,
)
from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.rollback import RollbackReport
from orchestrator.saga.obligation import Resolution
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError, problem_of
from orchestrator.web.sight import (
    changeable_mission,
    forbidden,
    requester_asked,
    seen_card,
    seen_mission,
    seen_question,
    sees,
)
from orchestrator.web.views import DecisionOutcome
from orchestrator.web.web_service import Service

_DECIDED_AT_ONCE: Final = 8
_DECISION_S: Final = 30.0
_NO_MISSION: Final = " -"
"""An id that no mission has, for a pause id that names none."""


async def start(service: Service, person: Person, request: MissionRequest) -> MissionHandle:
    """Start a mission of this person; an operator may start one for somebody else.

    Raises:
        ProblemError: the request names another requester.
    """
    return await service.client.start(as_requested(person, request))


def as_requested(person: Person, request: MissionRequest) -> MissionRequest:
    """Return a request with its requester.

    Raises:
        ProblemError: it names another person, and the caller is no operator.
    """
    asked = request.requester
    if asked and not person.owns(asked) and not person.may(Right.OPERATE):
        raise forbidden(person, f"start missions for {asked}: leave the requester out")
    return request.model_copy(update={"requester": asked or person.subject})


async def decide(
    service: Service, person: Person, decision: Decision, *, read: str = ""
) -> DecisionReceipt:
    """Send a decision of this person, signed if the service signs for people.

    Args:
        service: the service.
        person: who decides.
        decision: the decision; its approver is replaced by the person.
        read: the digest of the card that the person has read; empty: it is not compared. An
            approval repeats its digest in any case.

    Raises:
        CardUnknown: the card is not open, or the person does not see it.
        ProblemError: the person has no right to decide.
        ConfirmationError: the decision was refused: nothing changed.
    """
    card = await seen_card(service, person, decision.confirmation_id)
    if not person.may(Right.DECIDE):
        raise forbidden(person, "decide on cards")
    if read and read != card.digest:
        reason = "it has changed since it was read: show it again"
        raise errors.ConfirmationError(card.confirmation_id, reason, code="DigestMismatch")
    decision = decision.model_copy(update={"approver": person.subject})
    if service.signer is not None:
        # An approval repeats the digest that its person has read; others are about this card.
        digest = decision.digest if isinstance(decision, Approve) else card.digest
        decision = service.signer.sign(decision, digest=digest, person=person, card=card)
    return await service.client.decide(decision)


async def decide_all(
    service: Service, person: Person, decisions: Sequence[tuple[Decision, str]]
) -> list[DecisionOutcome]:
    """Send several decisions; return an outcome for each, in their order.

    Those on one mission are sent one after the other, others at the same time. One that is refused
    changes nothing for the rest.

    Args:
        service: the service.
        person: who decides.
        decisions: each with the digest of the card that the person has read, or ''.
    """
    by_mission: dict[str, list[int]] = defaultdict(list)
    for number, (decision, _) in enumerate(decisions):
        by_mission[names.mission_of(decision.confirmation_id)].append(number)
    outcomes: dict[int, DecisionOutcome] = {}
    places = asyncio.Semaphore(_DECIDED_AT_ONCE)

    async def decide_of_one(numbers: Sequence[int]) -> None:
        async with places:
            for number in numbers:
                decision, read = decisions[number]
                outcomes[number] = await _outcome_of(service, person, decision, read)

    await asyncio.gather(*map(decide_of_one, by_mission.values()))
    return [outcomes[number] for number in range(len(decisions))]


async def _outcome_of(
    service: Service, person: Person, decision: Decision, read: str
) -> DecisionOutcome:
    card_id = decision.confirmation_id
    try:
        async with asyncio.timeout(_DECISION_S):
            receipt = await decide(service, person, decision, read=read)
    except (ProblemError, errors.OrchestratorError) as refusal:
        problem = problem_of(refusal).problem
        return DecisionOutcome(confirmation_id=card_id, status=problem.status, problem=problem)
    except TimeoutError:
        detail = "no answer came in time, and the card may still be decided: show it again"
        late = ProblemError(HTTPStatus.GATEWAY_TIMEOUT, detail, code="NotInTime").problem
        return DecisionOutcome(confirmation_id=card_id, status=late.status, problem=late)
    return DecisionOutcome(confirmation_id=card_id, status=HTTPStatus.OK, receipt=receipt)


async def answer(
    service: Service, person: Person, question_id: str, values: dict[str, JsonValue] | str
) -> Understood:
    """Answer a question, which may be a hold before a rollback.

    Raises:
        QuestionError: the question is not open or not seen, or a value cannot be read.
        ProblemError: the mission is somebody else's.
    """
    await seen_question(service, person, question_id)
    await _check_changeable(service, person, question_id, "answer its questions")
    connection = service.client.connection
    return await send_answer(connection, question_id, values, answered_by=person.subject)


async def resume(
    service: Service,
    person: Person,
    pause_id: str,
    *,
    model: str | None = None,
    give_up: bool = False,
) -> ModelPause:
    """Retry the model of a leg that waits for it, continue with another, or give the leg up.

    Raises:
        QuestionError: no leg waits under that id, or the person does not see it.
        ProblemError: the mission is somebody else's.
        ModelUnusable: the model is not available where the leg runs; the leg keeps waiting.
    """
    mission_id = names.mission_of(pause_id)
    handle = service.client.get(mission_id or _NO_MISSION)
    is_seen = await sees(service, person, mission_id)
    if not is_seen or not any(one.pause_id == pause_id for one in await handle.pauses()):
        raise errors.QuestionError(pause_id, "no leg waits under that id", code="PauseUnknown")
    await changeable_mission(service, person, mission_id, "resume it")
    (pause,) = await handle.resume(pause_id, model=model, give_up=give_up, by=person.subject)
    return pause


async def _check_changeable(service: Service, person: Person, asked_id: str, what: str) -> None:
    if not person.may_change(await requester_asked(service, asked_id)):
        raise forbidden(person, f"{what}: it is asked by a mission of somebody else")


async def cancel(service: Service, person: Person, mission_id: str) -> None:
    """Stop a mission and have its effects cancelled.

    Raises:
        MissionNotFound: there is no such mission, or the person does not see it.
        ProblemError: the mission is somebody else's.
        UsageError: the mission is over.
    """
    await (await changeable_mission(service, person, mission_id, "cancel it")).cancel()


async def roll_back(
    service: Service, person: Person, mission_id: str, *, reason: str
) -> RollbackReport:
    """Roll back a mission that is over, and wait until everything was tried.

    Raises:
        MissionNotFound: there is no such mission, or the person does not see it.
        ProblemError: the mission is somebody else's.
        UsageError: the mission still runs.
    """
    handle = await changeable_mission(service, person, mission_id, "roll it back")
    return await handle.rollback(reason=reason, approver=person.subject)


async def follow_up(
    service: Service, person: Person, mission_id: str, named: str, request: MissionRequest
) -> MissionHandle:
    """Start a mission that makes only the one call of a follow-up action of a mission.

    Args:
        service: the service.
        person: who asks for it.
        mission_id: the mission that lists the action.
        named: the action's id.
        request: id, budget and policy of the new mission; its goal is replaced.

    Raises:
        MissionNotFound: there is no such mission, or the person does not see it.
        UsageError: the mission lists no such action.
    """
    await seen_mission(service, person, mission_id)
    if named.partition(":")[0].partition(".")[0] != mission_id:
        raise errors.UsageError(f"{mission_id} lists no follow-up {named!r}")
    return await start(service, person, await service.client.follow_up(named, request))


async def resolve(
    service: Service, person: Person, obligation_id: str, resolution: Resolution, *, note: str
) -> RollbackReport:
    """Resolve a parked obligation.

    Raises:
        QuestionError: the obligation is not parked, or the person does not see it.
        ProblemError: the person is no operator.
    """
    unknown = "no obligation of that id is parked"
    if not person.sees_all and not await sees(service, person, names.mission_of(obligation_id)):
        raise errors.QuestionError(obligation_id, unknown, code="QuestionUnknown")
    if not person.may(Right.OPERATE):
        raise forbidden(person, "resolve parked obligations")
    return await service.client.resolve(
        obligation_id, resolution, operator=person.subject, note=note
    )
