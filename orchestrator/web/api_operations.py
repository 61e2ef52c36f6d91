"""Operations of the API: each is declared once, as a route and as a part of `/openapi.json`."""

import asyncio
import functools
import hashlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError, invalid, invalid_body, not_signed_in
from orchestrator.web.request_limits import Limits, TokenBuckets, body_problem, read_body
from orchestrator.web.web_service import Service

Body = TypeVar("Body", bound=BaseModel | None)
Query = TypeVar("Query", bound=BaseModel | None)
JSON: Final = "application/json"


@dataclass(frozen=True)
class Gate:
    """Counts the requests of senders, for all operations of one process."""

    people: TokenBuckets
    addresses: TokenBuckets

    @classmethod
    def of(cls, service: Service) -> "Gate":
        """Return a gate with the limits of a service."""
        limits, clock = service.limits, time.monotonic
        return cls(
            TokenBuckets(rate=limits.requests_per_s, burst=limits.burst, clock=clock),
            TokenBuckets(
                rate=limits.unidentified_per_s, burst=limits.unidentified_burst, clock=clock
            ),
        )


@dataclass(frozen=True)
class Call(Generic[Body, Query]):
    """One request to an operation, after its caller and its parts were checked."""

    service: Service
    person: Person
    body: Body
    query: Query
    request: Request
    gate: Gate

    def part(self, name: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[name])

    def header(self, name: str) -> str:
        """Return a header of the request; empty if it has none."""
        return self.request.headers.get(name, "")


Content = TypeVar("Content")


@dataclass(frozen=True)
class Answered(Generic[Content]):
    """An answer with a status or headers of its own."""

    content: Content
    status: HTTPStatus | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = BaseModel | Sequence[BaseModel] | dict[str, JsonValue] | Answered[Any] | Response | None
Handler = Callable[[Any], Awaitable[Answer]]
Declared = TypeVar("Declared", bound=Handler)


@dataclass(frozen=True)
class Header:
    """A header of a request or of an answer, as the document describes it."""

    name: str
    description: str


@dataclass(frozen=True)
class Operation:
    """An operation of the API.

    `answer` is the type of the JSON that it returns, or None for no content; an operation that
    returns a `Response` states its `media_type`.
    """

    method: str
    path: str
    name: str
    """The operationId."""
    summary: str
    right: Right
    handler: Handler
    answer: Any = None
    body: Any = None
    query: type[BaseModel] | None = None
    status: HTTPStatus = HTTPStatus.OK
    media_type: str = JSON
    tag: str = ""
    description: str = ""
    headers: tuple[Header, ...] = ()
    """Headers that the request may have."""
    answer_headers: tuple[Header, ...] = ()
    problems: tuple[HTTPStatus, ...] = ()
    """Statuses of problems that only some operations have."""
    also: tuple[tuple[HTTPStatus, str], ...] = ()
    """Other statuses of success, each with its meaning, whose content is that of `answer`."""
    timeout_s: float = 60.0

    @property
    def has_etag(self) -> bool:
        """True if an answer can be compared with an earlier one."""
        return self.method == "GET" and self.answer is not None


PREFIX: Final = "/api"
_VERSION: Final = f"{PREFIX}/v1"
_NEXT: Final = Header("Link", 'the next page, as rel="next"')


class Operations(list[Operation]):
    """The operations of one tag, each declared by a decorator of its handler.

    The handler's name is the operationId, the first line of its docstring the summary; its
    `Call[Body, Query]` states body and query, and its return type the answer.
    """

    def __init__(self, tag: str) -> None:
        super().__init__()
        self._tag = tag

    def get(
        self, path: str, right: Right = Right.READ, **more: Any
    ) -> Callable[[Declared], Declared]:
        """Declare an operation of GET at a path below the version's."""
        return self._declared("GET", path, right, more)

    def post(self, path: str, right: Right, **more: Any) -> Callable[[Declared], Declared]:
        """Declare an operation of POST."""
        return self._declared("POST", path, right, more)

    def delete(self, path: str, right: Right, **more: Any) -> Callable[[Declared], Declared]:
        """Declare an operation of DELETE."""
        return self._declared("DELETE", path, right, more)

    def _declared(
        self, method: str, path: str, right: Right, more: dict[str, Any]
    ) -> Callable[[Declared], Declared]:
        def declare(handler: Declared) -> Declared:
            stated = {"method": method, "path": _VERSION + path, "right": right, "tag": self._tag}
            self.append(Operation(handler=handler, **_stated_by(handler) | stated | more))
            return handler

        return declare


def _stated_by(handler: Handler) -> dict[str, Any]:
    types = get_type_hints(handler)
    body, query = (None if one is type(None) else one for one in get_args(types["call"]))
    answer = types["return"]
    if get_origin(answer) is Answered:
        (answer,) = get_args(answer)
    first, *others = handler.__name__.split("_")
    summary, *_ = str(handler.__doc__).splitlines()
    stated: dict[str, Any] = {
        "name": first + "".join(map(str.capitalize, others)),
        "summary": summary.rstrip("."),
        "body": body,
        "query": query,
        "answer": None if answer in (Answer, Response, type(None)) else answer,
    }
    if query is not None and "cursor" in query.model_fields:
        stated |= {"answer_headers": (_NEXT,), "problems": (HTTPStatus.BAD_REQUEST,)}
    return stated


def routes_of(operations: Sequence[Operation], service: Service, gate: Gate) -> list[Route]:
    """Return routes to mount at `PREFIX`: one a path, so that a wrong method names all it has."""
    by_path: dict[str, dict[str, Operation]] = {}
    for one in operations:
        by_path.setdefault(one.path.removeprefix(PREFIX), {})[one.method] = one
    return [_route(path, methods, service, gate) for path, methods in by_path.items()]


def _route(path: str, methods: Mapping[str, Operation], service: Service, gate: Gate) -> Route:
    async def endpoint(request: Request) -> Response:
        operation = methods["GET" if request.method == "HEAD" else request.method]
        person = await identified(request, service, gate)
        if not person.may(operation.right):
            raise ProblemError(
                HTTPStatus.FORBIDDEN,
                f"{person.subject} has no role with the right to {operation.right}",
                code="RightMissing",
            )
        query = _query_of(operation, request)
        body = await _body_of(operation, request, service.limits)
        call = Call(service, person, body, query, request, gate)
        try:
            async with asyncio.timeout(operation.timeout_s):
                answer = await operation.handler(call)
        except TimeoutError:
            raise ProblemError(
                HTTPStatus.GATEWAY_TIMEOUT,
                "it was not done in time, and may be done later: look before you send it again",
                code="NotInTime",
            ) from None
        return _response(operation, request, answer)

    return Route(path, endpoint, methods=list(methods))


async def identified(request: Request, service: Service, gate: Gate) -> Person:
    """Return who sends a request; ProblemError: nothing proves it, or it came too often."""
    person = await service.identify(request)
    if person is None:
        wait_s = gate.addresses.take(request.client.host if request.client else "")
    else:
        wait_s = gate.people.take(person.subject)
    if wait_s:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "too many requests; wait for the time of the header Retry-After",
            code="TooManyRequests",
            headers={"Retry-After": str(math.ceil(wait_s))},
        )
    if person is None:
        raise not_signed_in()
    return person


async def _body_of(operation: Operation, request: Request, limits: Limits) -> Any:
    if operation.body is None:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"send the body as JSON, with the header Content-Type: {JSON}",
            code="RequestInvalid",
            headers={"Accept-Post": JSON},
        )
    content = await read_body(request, most=limits.body_bytes, within_s=limits.body_s) or b"{}"
    read: JsonValue = None
    try:
        read = from_json(content, allow_inf_nan=False)
        why = body_problem(read, depth=limits.body_depth)
        detail = f"the body cannot be used: {why}" if why else ""
    except ValueError as error:
        detail = f"the body is no JSON: {error}"
    if detail:
        raise ProblemError(HTTPStatus.BAD_REQUEST, detail[:300], code="RequestMalformed")
    try:
        # A misspelled field would be left out, and a budget with it.
        return _adapter(operation.body).validate_json(content, extra="forbid")
    except ValidationError as error:
        raise invalid_body(error, read) from None


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of a type, which takes milliseconds to make."""
    return TypeAdapter(kind)


def _query_of(operation: Operation, request: Request) -> BaseModel | None:
    given = request.query_params
    known = operation.query.model_fields if operation.query is not None else {}
    if unknown := [name for name in given if name not in known]:
        takes = ", ".join(known) or "none"
        raise invalid(f"no such parameter: {unknown[0][:60]!r}; it takes: {takes}")
    if operation.query is None:
        return None
    try:
        return operation.query.model_validate(dict(given))
    except ValidationError as error:
        raise invalid_body(error) from None


def _response(operation: Operation, request: Request, answer: Answer) -> Response:
    if isinstance(answer, Response):
        return answer
    given = answer if isinstance(answer, Answered) else Answered(answer)
    status = given.status or operation.status
    if given.content is None:
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=dict(given.headers))
    content = _adapter(operation.answer).dump_json(given.content, by_alias=True)
    headers = {
        # Kept by nobody but the sender, who asks each time whether it has changed.
        "Cache-Control": "private, no-cache" if operation.has_etag else "no-store",
        "X-Content-Type-Options": "nosniff",
        **given.headers,
    }
    pages = operation.query is not None and "cursor" in operation.query.model_fields
    if pages and (following := getattr(given.content, "next", None)):
        there = request.url.include_query_params(cursor=following)
        headers["Link"] = f'<{there.path}?{there.query}>; rel="next"'
    if operation.has_etag and status is HTTPStatus.OK:
        etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers["ETag"] = etag
        if is_known(etag, request.headers.get("if-none-match", "")):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, status, headers=headers, media_type=JSON)


def is_known(etag: str, if_none_match: str) -> bool:
    """Return True if a request names the entity tag as one that its sender has."""
    named = (one.strip().removeprefix("W/") for one in if_none_match.split(","))
    return if_none_match.strip() == "*" or etag in named


# -- idempotency keys -----------------------------------------------------------------------------

_LONGEST_KEY: Final = 200
KEY: Final = Header(
    "Idempotency-Key",
    "chosen by the caller, up to 200 printable characters: sent again with the same request, also "
    "after a crash of the service, it has the same effect and answer; with another request it is "
    "refused with 409",
)

KEYED: Final[Mapping[str, Any]] = {
    "headers": (KEY,),
    "answer_headers": (Header("Location", "the path of what was made"),),
    "problems": (HTTPStatus.CONFLICT,),
}
"""Of operations that make a thing once for each key."""


def derived_id(
    call: Call[Any, Any], prefix: str, *, given: str | None = None, also: str = ""
) -> str | None:
    """Return the id that the caller's key stands for; without a key, the one that is given.

    `prefix` is the kind of thing, so that one key may serve for several; `also` is what else the
    key belongs to, such as a session.
    """
    key = call.header(KEY.name)
    if key and given is not None:
        raise invalid(f"give {KEY.name} or {prefix}_id: each names the {prefix}")
    return id_of_key(call.person, prefix, key, also=also) if key else given


def id_of_key(person: Person, prefix: str, key: str, *, also: str = "") -> str:
    """Return the id that a person's key stands for; ProblemError: the key is none."""
    if not key or len(key) > _LONGEST_KEY or not key.isprintable():
        raise invalid(f"{KEY.name}: give up to {_LONGEST_KEY} printable characters")
    # Subjects are compared without case elsewhere too.
    named = "\n".join((prefix, person.subject.casefold(), also, key))
    return f"{prefix}-{hashlib.sha256(named.encode()).hexdigest()[:20]}"
