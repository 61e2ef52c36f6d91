"""`POST /slack/interactions`: decisions that people make by the buttons of a message in Slack.

A request counts only with the signature of the app, no older than five minutes. It decides as the
person that its user id names, through the same checks as the API and the inbox, on the card with
the digest in the button.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import parse_qs

from slack_sdk.signature import SignatureVerifier
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.adapters.notices import slack_messages
from orchestrator.adapters.notices.notice_rules import NoticeRules
from orchestrator.adapters.notices.slack_messages import CardKey
from orchestrator.adapters.secrets import EnvironmentSecrets, SecretStore
from orchestrator.confirmation.models import Approve, Decision, Reject
from orchestrator.core.errors import (
    CardUnknown,
    NoticeUndelivered,
    OrchestratorError,
    SecretMissing,
)
from orchestrator.runtime.notice_parts import slack_api
from orchestrator.settings import Settings, load_notice_rules
from orchestrator.web import actions, sight
from orchestrator.web.people import Person, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.request_limits import read_body
from orchestrator.web.web_service import Service

PATH: Final = "/slack/interactions"
_LONGEST_BODY: Final = 256 * 1024
_ACK_S: Final = 2.0
"""Slack gives up on a request after 3 s; what takes longer is answered by a message."""
_UNKNOWN: Final = (
    "your account in Slack is not known here; an administrator can add its id to the people of the "
    "configuration of notices"
)
_NO_MEMBER: Final = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
"""Facts of a user who is no full member of the workspace: their profile proves nothing here."""
Standing = Callable[[str, tuple[str, ...]], tuple[tuple[Role, ...], bool]]
"""Returns the roles of a subject with groups, and True if they see the missions of everybody."""
_log = logging.getLogger(__name__)


class Calls(Protocol):
    """Calls of Slack's API."""

    async def call(self, channel: str, method: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a call."""
        ...


@dataclass(frozen=True)
class SlackDoor:
    """What the interactions of a workspace need."""

    rules: NoticeRules
    secrets: SecretStore
    api: Calls
    standing: Standing
    running: set[asyncio.Task[str]] = field(default_factory=set)
    """Decisions that took longer than Slack waits for; kept, so that they are not collected."""


@dataclass(frozen=True)
class _Click:
    """One interaction, after its signature was verified."""

    kind: str
    user: str
    team: str
    action: str
    key: CardKey
    reason: str = ""
    trigger: str = ""
    channel: str = ""


def door_of(
    settings: Settings, standing: Standing, *, secrets: SecretStore | None = None
) -> SlackDoor | None:
    """Return the interactions that the settings configure; None without Slack.

    `standing` is that of sign-in. A file that is missing or no configuration of notices is
    DocumentUnreadable; without the libraries of notices it is a UsageError.
    """
    rules = load_notice_rules(settings.notices)
    if rules is None or rules.slack is None:
        return None
    secrets = secrets or EnvironmentSecrets()
    return SlackDoor(rules, secrets, slack_api(rules.slack, settings, secrets), standing)


def slack_routes(service: Service, door: SlackDoor) -> list[Route]:
    """Return the routes for Slack."""
    return [Route(PATH, _Interactions(service, door).endpoint, methods=["POST"])]


class _Interactions:
    def __init__(self, service: Service, door: SlackDoor) -> None:
        assert door.rules.slack is not None, "interactions need the app of a workspace"
        self._service = service
        self._door = door
        self._app = door.rules.slack

    async def endpoint(self, request: Request) -> Response:
        """Answer one interaction."""
        body = await read_body(request, most=_LONGEST_BODY)
        self._check_signature(body, request)
        click = _click_of(body)
        if click is None:
            return Response()  # such as a click on a link: nothing is to be done
        if click.kind == "block_actions" and click.action == slack_messages.REJECT:
            title = f"Reject {click.key.confirmation_id}"
            view = slack_messages.rejection_view(click.key, title=title)
            await self._show("views_open", trigger_id=click.trigger, view=view)
            return Response()
        answer = await self._within(self._decided(click))
        if click.kind == "view_submission":
            errors = {"response_action": "errors", "errors": {slack_messages.REASON: answer}}
            return JSONResponse(errors if answer else {"response_action": "clear"})
        if answer:  # to the person alone
            text = slack_messages.escaped(answer)
            to = {"channel": click.channel, "user": click.user}
            await self._show("chat_postEphemeral", text=text, **to)
        return Response()

    async def _show(self, method: str, **arguments: Any) -> None:
        try:
            await self._door.api.call("slack", method, **arguments)
        except (NoticeUndelivered, SecretMissing) as error:
            _log.warning("a person in Slack was not shown an answer: %s", error)

    def _check_signature(self, body: bytes, request: Request) -> None:
        try:
            secret = self._door.secrets.get(self._app.signing_secret)
            is_valid = SignatureVerifier(secret).is_valid_request(body, dict(request.headers))
        except (SecretMissing, ValueError, OverflowError) as error:
            if isinstance(error, SecretMissing):
                _log.error("interactions of Slack are refused: %s", error)
            is_valid = False
        if not is_valid:
            raise ProblemError(
                HTTPStatus.UNAUTHORIZED,
                "the request has no valid signature of the Slack app, or is older than five "
                "minutes",
                code="SlackSignatureInvalid",
            )

    async def _decided(self, click: _Click) -> str:
        """Decide; return why it was refused, in words for the person, or nothing."""
        wanted = click.key.confirmation_id
        try:
            person = await self._person_of(click.user, click.team)
            if person is None:
                return _sentence(_UNKNOWN)
            card = await sight.seen_card(self._service, person, wanted)
            if card.digest != click.key.digest:
                stale = "the card has changed since this message: read it again before you decide"
                raise CardUnknown(wanted, stale)
            decision: Decision = Approve(confirmation_id=wanted, digest=click.key.digest)
            if click.action == slack_messages.REJECT:
                decision = Reject(confirmation_id=wanted, reason=click.reason)
            await actions.decide(self._service, person, decision)
        except (ProblemError, OrchestratorError) as refused:
            inbox = self._door.rules.inbox or self._service.url
            where = f" Decide in the inbox: {inbox}/cards/{wanted}" if inbox else ""
            return _sentence(str(refused)) + where
        return ""

    async def _person_of(self, user_id: str, team_id: str) -> Person | None:
        """Return the person that the configuration, or a verified profile, names; None without one.

        A display name, which anybody may choose, counts not.
        """
        if self._app.team and team_id != self._app.team:
            return None
        subject = self._app.people.get(user_id) or await self._by_email(user_id, team_id)
        if not subject:
            return None
        roles, sees_all = self._door.standing(subject, ())
        issuer = "https://slack.com"
        return Person(
            subject=subject, issuer=issuer, roles=roles, sees_all=sees_all, proved_by="slack"
        )

    async def _by_email(self, user_id: str, team_id: str) -> str:
        if not self._app.by_email:
            return ""
        answer = await self._door.api.call("slack", "users_info", user=user_id)
        user = answer.get("user")
        if not isinstance(user, dict) or any(user.get(fact) for fact in _NO_MEMBER):
            return ""
        if user.get("id") != user_id or user.get("team_id", team_id) != team_id:
            return ""
        profile = user.get("profile")
        email = profile.get("email", "") if isinstance(profile, dict) else ""
        if not isinstance(email, str) or user.get("is_email_confirmed") is not True:
            return ""
        name, at, domain = email.lower().rpartition("@")
        known = {one.lower() for one in self._app.email_domains}
        return email.lower() if name and at and domain in known else ""

    async def _within(self, work: Coroutine[Any, Any, str]) -> str:
        """Return the answer of a decision if it comes before Slack gives up.

        A later one goes on, and the message in the channel shows that it was made.
        """
        task = asyncio.create_task(work)
        done, _ = await asyncio.wait({task}, timeout=_ACK_S)
        if done:
            return task.result()
        self._door.running.add(task)
        task.add_done_callback(self._door.running.discard)
        return ""


def _click_of(body: bytes) -> _Click | None:
    """Return the interaction in a signed request; None for one that asks for nothing of ours."""
    try:
        (text,) = parse_qs(body.decode(), max_num_fields=10)["payload"]
        payload: dict[str, Any] = json.loads(text)
        kind, user = payload["type"], payload["user"]
        team = (payload.get("team") or {}).get("id") or user.get("team_id") or ""
        named = {"kind": str(kind), "user": str(user["id"]), "team": str(team)}
        if kind == "block_actions":
            (action,) = payload["actions"]
            name = action["action_id"]
            if name not in (slack_messages.APPROVE, slack_messages.REJECT):
                return None
            return _Click(
                **named,
                action=name,
                key=CardKey.read(action["value"]),
                trigger=str(payload.get("trigger_id", "")),
                channel=str((payload.get("channel") or {}).get("id", "")),
            )
        view = payload["view"] if kind == "view_submission" else {}
        if view.get("callback_id") != slack_messages.REJECT:
            return None
        entered = view["state"]["values"][slack_messages.REASON][slack_messages.REASON]["value"]
        return _Click(
            **named,
            action=slack_messages.REJECT,
            key=CardKey.read(view["private_metadata"]),
            reason=str(entered or "").strip() or "no reason given",
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, "this is no interaction of one of our messages"
        ) from error


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else "It was refused."
