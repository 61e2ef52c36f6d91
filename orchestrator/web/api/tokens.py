"""API tokens of machines and people: create, list, revoke; and the end of a person's sessions."""

import asyncio
from collections.abc import Collection
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field

from orchestrator.adapters.storage.sql_sign_in import ApiToken
from orchestrator.adapters.storage.store import Store
from orchestrator.confirmation.policy import approver_problem
from orchestrator.core.errors import UsageError
from orchestrator.web.api_operations import Call, Operations
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sight import forbidden
from orchestrator.web.sign_in.identity import utc_now
from orchestrator.web.views import Me

LONGEST: Final = timedelta(days=366)
"""The longest time that a token may be valid."""
api: Final = Operations("tokens")


class NewToken(BaseModel):
    """A token to create."""

    subject: str = Field(description="the person or machine that its requests are recorded as")
    scopes: tuple[Right, ...] = Field(min_length=1)
    expires_in_s: int = Field(default=30 * 86_400, gt=0, le=int(LONGEST.total_seconds()))
    sees_all: bool = Field(default=False, description="False: only missions of its subject")


class CreatedToken(ApiToken):
    """A new token with its text, which is shown this once."""

    token: str


class EndedSessions(BaseModel):
    """A person whose sessions were ended."""

    subject: str = Field(min_length=1, max_length=200)


def create(
    store: Store,
    *,
    subject: str,
    scopes: Collection[Right],
    lifetime: timedelta,
    sees_all: bool,
    created_by: str,
    now: datetime,
) -> CreatedToken:
    """Create a token; UsageError: the subject is no name, or the lifetime is too long."""
    if (problem := approver_problem(subject, ())) is not None:
        raise UsageError(f"the subject of a token: {problem}")
    if lifetime > LONGEST:
        raise UsageError(f"a token is valid for at most {LONGEST.days} days")
    token, text = store.api_tokens.create(
        subject=subject,
        scopes={right.value for right in scopes},
        sees_all=sees_all,
        created_by=created_by,
        expires_at=now + lifetime,
        now=now,
    )
    return CreatedToken(**token.model_dump(), token=text)


@api.post("/tokens", Right.ADMINISTER, status=HTTPStatus.CREATED)
async def create_token(call: Call[NewToken, None]) -> CreatedToken:
    """Create an API token, whose text is shown this once."""
    person, wanted = call.person, call.body
    if person.proved_by == "api token":
        raise forbidden(person, "create tokens by a token: sign in")
    if not person.rights.issuperset(wanted.scopes) or (wanted.sees_all and not person.sees_all):
        raise forbidden(person, "give a token more rights than they have")
    if Right.DECIDE in wanted.scopes and not person.owns(wanted.subject):
        raise forbidden(person, "create a token that decides as somebody else")
    return await asyncio.to_thread(
        create,
        _store(call),
        subject=wanted.subject,
        scopes=wanted.scopes,
        lifetime=timedelta(seconds=wanted.expires_in_s),
        sees_all=wanted.sees_all,
        created_by=person.subject,
        now=utc_now(),
    )


@api.get("/tokens", Right.ADMINISTER)
async def list_tokens(call: Call[None, None]) -> list[ApiToken]:
    """Return the API tokens, newest first, with expired and revoked ones."""
    return await asyncio.to_thread(_store(call).api_tokens.list)


@api.delete("/tokens/{token_id}", Right.ADMINISTER)
async def revoke_token(call: Call[None, None]) -> None:
    """Revoke an API token."""
    token_id = call.part("token_id")
    if not await asyncio.to_thread(_store(call).api_tokens.revoke, token_id, now=utc_now()):
        raise ProblemError(HTTPStatus.NOT_FOUND, "there is no such token", code="TokenUnknown")


@api.post("/ended-sessions", Right.ADMINISTER)
async def end_sessions(call: Call[EndedSessions, None]) -> None:
    """End every session that a person has now, on all devices."""
    now, end = utc_now(), _store(call).sign_outs.end_sessions_of
    await asyncio.to_thread(end, call.body.subject, now=now, until=now + LONGEST)


def _store(call: Call[Any, None]) -> Store:
    if call.service.store is None:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE, "this service has no store", code="StoreMissing"
        )
    return call.service.store


@api.get("/me", tag="people")
async def show_me(call: Call[None, None]) -> Me:
    """Return the caller, with their rights."""
    rights = tuple(right for right in Right if call.person.may(right))
    return Me.model_validate({**dict(call.person), "rights": rights})
