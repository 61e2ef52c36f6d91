"""Actions of people through the API and the inbox; each function checks its caller's rights.

A mission that the caller does not see is not found (MissionNotFound), and so are its cards
(CardUnknown), questions and pauses (QuestionError). What they see and may not do, and a mission of
somebody else, is a ProblemError.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from http import HTTPStatus

from pydantic import JsonValue

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.waits import Understood, send_answer
from orchestrator.confirmation.models import Approve, Decision, DecisionReceipt
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


async def start(service: Service, person: Person, request: MissionRequest) -> MissionHandle:
    """Start a mission of this person; an operator may start one for somebody else."""
    return await service.client.start(as_requested(person, request))


def as_requested(person: Person, request: MissionRequest) -> MissionRequest:
    """Return a request with its requester."""
    asked = request.requester
    if asked and not person.owns(asked) and not person.may(Right.OPERATE):
        raise forbidden(person, f"start missions for {asked}: leave the requester out")
    return request.model_copy(update={"requester": asked or person.subject})


async def decide(
    service: Service, person: Person, decision: Decision, *, read: str = ""
) -> DecisionReceipt:
    """Send a decision of this person, who becomes its approver; signed if the service signs.

    `read` is the digest of the card that the person has read; empty: it is not compared. An
    approval repeats its digest in any case. A refused decision (ConfirmationError) changes
    nothing.
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
    """Send decisions, each with the digest that its person has read, or ''; return their outcomes.

    Those on one mission are sent one after the other, others at the same time. One that is refused
    changes nothing for the rest.
    """
    by_mission: dict[str, list[int]] = defaultdict(list)
    for number, (decision, _) in enumerate(decisions):
        by_mission[names.mission_of(decision.confirmation_id)].append(number)
    outcomes: dict[int, DecisionOutcome] = {}
    places = asyncio.Semaphore(8)

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
        async with asyncio.timeout(30.0):
            receipt = await decide(service, person, decision, read=read)
    except (ProblemError, errors.OrchestratorError) as refusal:
        problem = problem_of(refusal).problem
    except TimeoutError:
        detail = "no answer came in time, and the card may still be decided: show it again"
        problem = ProblemError(HTTPStatus.GATEWAY_TIMEOUT, detail, code="NotInTime").problem
    else:
        return DecisionOutcome(confirmation_id=card_id, status=HTTPStatus.OK, receipt=receipt)
    return DecisionOutcome(confirmation_id=card_id, status=problem.status, problem=problem)


async def answer(
    service: Service, person: Person, question_id: str, values: dict[str, JsonValue] | str
) -> Understood:
    """Answer a question, which may be a hold before a rollback.

    A value that cannot be read raises QuestionError.
    """
    await seen_question(service, person, question_id)
    if not person.may_change(await requester_asked(service, question_id)):
        raise forbidden(person, "answer its questions: it is asked by a mission of somebody else")
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

    A model that is not available where the leg runs raises ModelUnusable; the leg keeps waiting.
    """
    mission_id = names.mission_of(pause_id)
    handle = service.client.get(mission_id or " -")  # an id that no mission has
    is_seen = await sees(service, person, mission_id)
    if not is_seen or not any(one.pause_id == pause_id for one in await handle.pauses()):
        raise errors.QuestionError(pause_id, "no leg waits under that id", code="PauseUnknown")
    await changeable_mission(service, person, mission_id, "resume it")
    (pause,) = await handle.resume(pause_id, model=model, give_up=give_up, by=person.subject)
    return pause


async def cancel(service: Service, person: Person, mission_id: str) -> None:
    """Stop a mission that runs and have its effects cancelled, else raise UsageError."""
    await (await changeable_mission(service, person, mission_id, "cancel it")).cancel()


async def roll_back(
    service: Service, person: Person, mission_id: str, *, reason: str
) -> RollbackReport:
    """Roll back a mission that is over (else UsageError); wait until everything was tried."""
    handle = await changeable_mission(service, person, mission_id, "roll it back")
    return await handle.rollback(reason=reason, approver=person.subject)


async def follow_up(
    service: Service, person: Person, mission_id: str, named: str, request: MissionRequest
) -> MissionHandle:
    """Start a mission that makes only the one call of a follow-up action that a mission lists.

    The request has id, budget and policy of the new mission; its goal is replaced.
    """
    await seen_mission(service, person, mission_id)
    if named.partition(":")[0].partition(".")[0] != mission_id:
        raise errors.UsageError(f"{mission_id} lists no follow-up {named!r}")
    return await start(service, person, await service.client.follow_up(named, request))


async def resolve(
    service: Service, person: Person, obligation_id: str, resolution: Resolution, *, note: str
) -> RollbackReport:
    """Resolve a parked obligation."""
    if not person.sees_all and not await sees(service, person, names.mission_of(obligation_id)):
        raise errors.QuestionError(
            obligation_id, "no obligation of that id is parked", code="QuestionUnknown"
        )
    if not person.may(Right.OPERATE):
        raise forbidden(person, "resolve parked obligations")
    return await service.client.resolve(
        obligation_id, resolution, operator=person.subject, note=note
    )
