"""Problem details (RFC 9457): how the API says why a request failed."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from pydantic import Field, JsonValue, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.core import errors
from orchestrator.core.record import Record

MEDIA_TYPE: Final = "application/problem+json"
_LOGGED: Final = "the request failed; the log of the service says why"
_MOST_FIELDS: Final = 20
_LONGEST: Final = 300
_log = logging.getLogger(__name__)


class InvalidField(Record):
    """A field of the request that cannot be used."""

    pointer: str = Field(description="JSON pointer into the body, or the name of a parameter")
    detail: str = Field(description="what the field has to be")


class Problem(Record):
    """Why a request failed, and how to fix it (RFC 9457)."""

    type: str = Field(default="about:blank", description="URI of the kind of problem")
    title: str = Field(description="the name of the status")
    status: int = Field(description="the HTTP status")
    detail: str = Field(default="", description="what is wrong, and what to do, in sentences")
    code: str = Field(default="", description="the error's name, for programs")
    errors: tuple[InvalidField, ...] = Field(
        default=(), description="fields of the request that cannot be used, at most 20"
    )


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        code: str = "",
        invalid: tuple[InvalidField, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(
            title=status.phrase, status=status, detail=detail, code=code, errors=invalid
        )
        self.headers = dict(headers or {})


_STATUS: Final[tuple[tuple[HTTPStatus, tuple[type[errors.OrchestratorError], ...]], ...]] = (
    (HTTPStatus.NOT_FOUND, (errors.MissionNotFound, errors.CardUnknown, errors.ToolNotFound)),
    (HTTPStatus.CONFLICT, (errors.MissionIdTaken,)),
    (HTTPStatus.UNAUTHORIZED, (errors.SignInTooOld,)),
    (HTTPStatus.FORBIDDEN, (errors.SignatureRefused,)),
    (HTTPStatus.CONFLICT, (errors.ConfirmationError, errors.QuestionError, errors.SessionError)),
    (
        HTTPStatus.UNPROCESSABLE_ENTITY,
        (errors.PlanError, errors.ArgumentsInvalid, errors.ModelUnusable),
    ),
    # Another process of the service may have the release that can read the history.
    (HTTPStatus.SERVICE_UNAVAILABLE, (errors.ServiceUnavailable, errors.EventsUnreadable)),
    (HTTPStatus.BAD_REQUEST, (errors.UsageError,)),
)
"""The status for each kind of error; the first that fits counts."""
_STATUS_OF_CODE: Final = {
    "ApproverRefused": HTTPStatus.FORBIDDEN,
    "PolicyWidened": HTTPStatus.FORBIDDEN,
    "PayloadKeysInvalid": HTTPStatus.INTERNAL_SERVER_ERROR,
    "QuestionUnknown": HTTPStatus.NOT_FOUND,
    "PauseUnknown": HTTPStatus.NOT_FOUND,
    "SessionUnknown": HTTPStatus.NOT_FOUND,
    "CallUnknown": HTTPStatus.NOT_FOUND,
    "ToolUnknown": HTTPStatus.UNPROCESSABLE_ENTITY,
    "AmendmentInvalid": HTTPStatus.UNPROCESSABLE_ENTITY,
    "AnswerInvalid": HTTPStatus.UNPROCESSABLE_ENTITY,
    "SessionFull": HTTPStatus.TOO_MANY_REQUESTS,
}


def status_of(error: ProblemError | errors.OrchestratorError) -> HTTPStatus:
    """Return the HTTP status for a problem, or an error of the library."""
    if isinstance(error, ProblemError):
        return HTTPStatus(error.problem.status)
    if error.code in _STATUS_OF_CODE:
        return _STATUS_OF_CODE[error.code]
    found = (status for status, kinds in _STATUS if isinstance(error, kinds))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: Exception) -> ProblemError:
    """Return an error as a problem; of a bug, only that there is one."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
        details = {
            404: "nothing has this address; operations are listed in /openapi.json",
            405: "the address has no such method; see the header Allow",
        }
        detail = details.get(status, str(error.detail))
        return ProblemError(status, detail, code="RequestInvalid", headers=error.headers)
    if not isinstance(error, errors.OrchestratorError):
        return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, _LOGGED, code="Failed")
    status = status_of(error)
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("a request failed: %s: %s", error.code, error)
        return ProblemError(status, _LOGGED, code=error.code)
    waits = status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)
    headers = {"Retry-After": "2"} if waits else {}
    if isinstance(error, errors.SignInTooOld):
        asks = f'error="insufficient_user_authentication", max_age={error.max_age_s:.0f}'
        headers["WWW-Authenticate"] = f"Bearer {asks}"  # RFC 9470
    return ProblemError(status, str(error), code=error.code, headers=headers)


def invalid_body(error: ValidationError, body: JsonValue = None) -> ProblemError:
    """Return what a model refuses as a problem, with pointers into the parsed body.

    The refused values are not repeated.
    """
    listed = error.errors(include_input=False, include_url=False, include_context=False)
    found = tuple(
        InvalidField(pointer=_pointer(one["loc"], body)[:_LONGEST], detail=one["msg"][:_LONGEST])
        for one in listed[:_MOST_FIELDS]
    )
    detail = "; ".join(f"{one.pointer}: {one.detail}" for one in found[:3])
    return ProblemError(
        HTTPStatus.UNPROCESSABLE_ENTITY, detail, code="RequestInvalid", invalid=found
    )


def invalid(detail: str) -> ProblemError:
    """Return the problem of a part of a request that cannot be used."""
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, code="RequestInvalid")


def not_signed_in() -> ProblemError:
    """Return the problem of a request whose sender nothing proves."""
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        "sign in, or send an API token: Authorization: Bearer TOKEN",
        code="NotSignedIn",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _pointer(place: tuple[int | str, ...], body: JsonValue) -> str:
    """Return the JSON pointer of a place, without the tags of unions that pydantic puts in it."""
    steps: list[str] = []
    for number, step in enumerate(place):
        is_last = number == len(place) - 1
        if isinstance(body, dict) and step not in body and not is_last:
            continue
        if isinstance(body, dict):
            body = body.get(str(step))
        elif isinstance(body, list):
            body = body[step] if isinstance(step, int) and step < len(body) else None
        steps.append(str(step).replace("~", "~0").replace("/", "~1"))
    return "/" + "/".join(steps)


def response_of(error: ProblemError) -> Response:
    """Return the response for a problem."""
    problem = error.problem
    content = problem.model_dump(mode="json", exclude_defaults=True) | {"type": problem.type}
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **error.headers}
    return JSONResponse(content, problem.status, headers=headers, media_type=MEDIA_TYPE)


async def on_problem(_: Request, error: Exception) -> Response:
    """Answer a request that ended with a problem, an error of the library, or a bug."""
    return response_of(problem_of(error))


ON_PROBLEM: Final = dict.fromkeys(
    (ProblemError, errors.OrchestratorError, HTTPException, Exception), on_problem
)
"""The exception handlers of an application."""
