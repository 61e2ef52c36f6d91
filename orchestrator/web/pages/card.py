"""One card: the whole of it, and the forms that approve, amend, send back and reject it."""

import asyncio
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import get_args

from pydantic import ValidationError
from starlette.responses import Response

from orchestrator.catalog.card_types import OVERCHARGE, PLAN
from orchestrator.confirmation.choices import THEN
from orchestrator.confirmation.models import (
    MOST_TEXT,
    Amend,
    Approve,
    ConfirmationCard,
    Decision,
    Reject,
    Respond,
    Then,
)
from orchestrator.confirmation.same_again import SameAgain
from orchestrator.core import errors
from orchestrator.core.budget import Money
from orchestrator.messages import names
from orchestrator.web import actions, sight
from orchestrator.web.pages.argument_form import (
    ArgumentField,
    ReadForm,
    argument_fields,
    changeable_inputs,
    read_arguments,
)
from orchestrator.web.pages.page import Visit, refused_form, to, typed_amount
from orchestrator.web.pages.tool_schemas import Fields, ToolSchemas
from orchestrator.web.problem_details import ProblemError, status_of
from orchestrator.web.sight import notice_of
from orchestrator.web.sign_in.notice_page import sign_in_address


class CardPage:
    """The page of one card."""

    def __init__(self, schemas: ToolSchemas) -> None:
        self._schemas = schemas

    async def show(self, visit: Visit) -> Response:
        """Show the card; if it is closed, who decided on it."""
        try:
            card = await self._card(visit)
        except errors.CardUnknown:
            return await decided_card(visit, visit.part("confirmation_id"))
        return await self._shown(visit, card, amended=bool(visit.asked("amended")))

    async def decide(self, visit: Visit) -> Response:
        """Send the decision of a form, if the card is still the one that the form showed."""
        try:
            return await self._decided(visit)
        except errors.CardUnknown:
            late = "The card was closed before your decision arrived: yours did not count."
            wanted = visit.part("confirmation_id")
            return await decided_card(visit, wanted, notice=late, status=HTTPStatus.CONFLICT)

    async def _decided(self, visit: Visit) -> Response:
        card = await self._card(visit)
        if visit.sent("digest") != card.digest:
            changed = (
                "The card has changed since you opened it, so nothing was decided. Read it again: "
                "this is the card as it is now."
            )
            return await self._shown(visit, card, HTTPStatus.CONFLICT, problem=changed)
        read: ReadForm | None = None
        is_mission = await sight.is_mission(visit.service, card.mission_id)
        try:
            if visit.sent("decision") == "amend":
                fields, schemas = await self._fields(card)
                read = read_arguments(fields, schemas, visit.sent_or_none)
                if read.problems or not read.changes:
                    why = "Nothing was changed." if not read.problems else "See the fields below."
                    status = HTTPStatus.UNPROCESSABLE_ENTITY
                    return await self._shown(visit, card, status, problem=why, read=read)
                changes = read.changes
                decision: Decision = Amend(confirmation_id=card.confirmation_id, changes=changes)
            else:
                decision = _decision_of(visit, card)
            receipt = await actions.decide(visit.service, visit.person, decision, read=card.digest)
        except errors.CardUnknown:
            raise
        except (errors.ConfirmationError, ProblemError) as refused:
            again = ""  # the policy may require a fresh sign-in
            if isinstance(refused, errors.SignInTooOld):
                again = sign_in_address(visit.request.url.path, max_age_s=refused.max_age_s)
            status, why = status_of(refused), str(refused)
            now = await self._card(visit)
            return await self._shown(visit, now, status, problem=why, read=read, sign_in=again)
        await self._closed(visit, card)
        if receipt.card is None and not is_mission:
            return to(approved=1) if isinstance(decision, Approve) else to()
        if isinstance(decision, Reject) and decision.then == "rollback":
            return to("missions", card.mission_id)
        following = receipt.card.confirmation_id if receipt.card else card.confirmation_id
        return to("cards", following, **({"amended": 1} if isinstance(decision, Amend) else {}))

    async def _closed(self, visit: Visit, card: ConfirmationCard) -> None:
        """Wait a moment until the lists show the decision, so that its person sees it too."""
        for _ in range(20):
            try:
                now = await self._card(visit)
            except (errors.CardUnknown, errors.ServiceUnavailable):
                return
            if (now.digest, now.approved_by) != (card.digest, card.approved_by):
                return
            await asyncio.sleep(0.1)

    async def _card(self, visit: Visit) -> ConfirmationCard:
        wanted = visit.part("confirmation_id")
        try:
            return await sight.seen_card(visit.service, visit.person, wanted)
        except errors.MissionNotFound:
            raise errors.CardUnknown(wanted, "no such confirmation is open") from None

    async def _fields(self, card: ConfirmationCard) -> tuple[tuple[ArgumentField, ...], Fields]:
        if card.card_type in (OVERCHARGE, PLAN) or card.inputs == ():
            return (), {}
        schemas = await self._schemas.of(card.mission_id, card.tool)
        named = changeable_inputs(card, schemas)
        fields = argument_fields(card.arguments, schemas, names=named, personal=card.personal)
        return fields, schemas

    async def _shown(
        self,
        visit: Visit,
        card: ConfirmationCard,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        problem: str = "",
        read: ReadForm | None = None,
        amended: bool = False,
        sign_in: str = "",
    ) -> Response:
        fields = read.fields if read is not None else (await self._fields(card))[0]
        follows = {choice.name: choice.follows for choice in card.choices()}
        # A plan or an effect that cannot be cancelled leaves nothing to choose after a rejection.
        lines = () if card.card_type == PLAN else follows.get("Reject", ())
        named = dict(line.split(": ", 1) for line in lines if ": " in line)
        return visit.page(
            "card.html",
            status=status,
            card=card,
            is_mission=await sight.is_mission(visit.service, card.mission_id),
            fields=fields,
            problem=problem,
            amended=amended,
            sign_in=sign_in,
            notice=await notice_of(visit.service, card.confirmation_id),
            is_open_form=read is not None,
            may_decide=visit.person.may_decide(card),
            has_approved=visit.person.subject in card.approved_by,
            follows=follows,
            then={name: text for name, text in named.items() if name in THEN},
            may_again=() if card.again is None else card.again.choices(card.arguments),
            is_plan=card.card_type == PLAN,
            is_done=card.card_type == OVERCHARGE,
            longest=MOST_TEXT,
            typed={name: visit.sent(name) for name in ("reason", "text", "then")},
        )


def _decision_of(visit: Visit, card: ConfirmationCard) -> Decision:
    wanted = card.confirmation_id
    match visit.sent("decision"):
        case "approve":
            rule = sent_rule(visit, card)
            return Approve(confirmation_id=wanted, digest=visit.sent("digest"), again=rule)
        case "reject":
            reason = _text(visit, "reason", "say why you reject it: the planner reads the reason")
            then = visit.sent("then") or "replan"
            for known in get_args(Then):
                if known == then:
                    return Reject(confirmation_id=wanted, reason=reason, then=known)
        case "respond":
            text = _text(visit, "text", "say what is to be otherwise")
            return Respond(confirmation_id=wanted, text=text)
    raise ProblemError(HTTPStatus.BAD_REQUEST, "The form names no decision that can be made here.")


def _text(visit: Visit, name: str, missing: str) -> str:
    text = visit.sent(name).strip()
    if not text:
        raise refused_form(f"Nothing was decided: {missing}.")
    if len(text) > MOST_TEXT:
        raise refused_form(f"Nothing was decided: at most {MOST_TEXT:,} characters are taken.")
    return text


def sent_rule(visit: Visit, card: ConfirmationCard) -> SameAgain | None:
    """Return the rule that a form asks for; None if it asks for none."""
    if not visit.sent("again"):
        return None
    if card.again is None:
        raise refused_form("Nothing was decided: the policy permits no rule with this card.")
    try:
        amount = typed_amount(visit.sent("again_amount"))
        limit = Money.model_validate({"amount": amount, "currency": card.again.max_amount.currency})
        hours = float(visit.sent("again_hours"))
        until = datetime.now(UTC) + timedelta(hours=hours)
    except (ValidationError, ValueError, OverflowError):
        why = "a rule takes an amount such as 100, and a number of hours"
        raise refused_form(f"Nothing was decided: {why}.") from None
    allowed = set(card.again.choices(card.arguments))
    differs = [str(name) for name in visit.form.getlist("again_differs") if name in allowed]
    return SameAgain(up_to=limit, until=until, may_differ=tuple(differs))


async def decided_card(
    visit: Visit, confirmation_id: str, *, notice: str = "", status: HTTPStatus = HTTPStatus.OK
) -> Response:
    """Show the decisions on a card that is no longer open, if the person sees its mission."""
    try:
        mission_id = names.mission_of(confirmation_id)
        found = await sight.seen_view(visit.service, visit.person, mission_id)
    except errors.MissionNotFound:
        raise errors.CardUnknown(confirmation_id, "no such confirmation is open") from None
    result = found.result
    if result is None:
        unread = found.known.unread if found.known is not None else ""
        raise errors.CardUnknown(confirmation_id, f"it is not open; {unread}")
    of_legs = (decision for leg in result.legs for decision in leg.decisions)
    decisions = [
        one for one in (*result.plan_decisions, *of_legs) if one.confirmation_id == confirmation_id
    ]
    effects = (
        one for one in result.ledger.obligations if _is_about(one.obligation_id, confirmation_id)
    )
    if not decisions and not notice:
        raise errors.CardUnknown(confirmation_id, "no such confirmation is open")
    return visit.page(
        "decided.html",
        status=status,
        confirmation_id=confirmation_id,
        result=result,
        decisions=decisions,
        notice=notice,
        obligation=next(effects, None),
        follow_ups=[one for one in result.follow_ups if _is_about(one.id, confirmation_id)],
    )


def _is_about(call_id: str, confirmation_id: str) -> bool:
    """Return True if a call has the id of a card, whose round may follow the call's id."""
    call = call_id.partition(":")[0]
    rest = confirmation_id.removeprefix(call)
    return confirmation_id.startswith(call) and (not rest or rest.startswith("-"))
