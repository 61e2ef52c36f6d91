"""Temporal's codec protocol over HTTP: payloads as JSON, to decode or encode."""

import logging
from collections.abc import Collection
from typing import Final
from urllib.parse import parse_qs

from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import PayloadCodec

from orchestrator.codec_server.callers import COOKIE, SESSION_S, Callers
from orchestrator.core.errors import PayloadLocked

_log = logging.getLogger(__name__)
_MOST_BYTES: Final = 32_000_000
"""Per request: the UI sends the payloads of a page of history at once."""
_NOT_KEPT: Final = {"Cache-Control": "no-store"}
_PAGE: Final = """<!doctype html><meta charset="utf-8"><title>Codec server</title>
<body style="font: 16px sans-serif; max-width: 40em; margin: 4em auto">
<h1>Codec server</h1><p>{said}</p>
<form method="post" action="/login"><label>Token <input name="token" type="password" autofocus>
</label> <button>Open a session</button></form>
<p>Then turn on <i>Include cross-origin credentials</i> in the codec settings of Temporal's UI.</p>
"""


class CodecApp:
    """Answers `/decode` and `/encode`, with or without a namespace before it."""

    def __init__(self, codec: PayloadCodec, callers: Callers, *, is_tls: bool = False) -> None:
        self._codec = codec
        self._callers = callers
        self._is_tls = is_tls

    async def answer(self, request: Request) -> Response:
        """Return the payloads decoded or encoded, in their order."""
        caller = await self._callers.name_of(request.headers, request.cookies.get(COOKIE))
        verb = request.url.path.rpartition("/")[2]
        if caller is None:
            _log.info("%s refused: no valid proof", verb)
            return _said(401, "give the token of this codec server: Authorization: Bearer TOKEN")
        payloads = await _read(request)
        if isinstance(payloads, str):
            return _said(400, payloads)
        done = [await self._done(verb, one) for one in payloads.payloads]
        unread = [why for _, why in done if why is not None]
        for why in dict.fromkeys(map(str, unread)):
            _log.warning("%s for %s: left as it was: %s", verb, caller, why)
        _log.info("%s: %d payloads for %s", verb, len(done) - len(unread), caller)
        answered = Payloads(payloads=[payload for payload, _ in done])
        return JSONResponse(json_format.MessageToDict(answered), headers=_NOT_KEPT)

    async def _done(self, verb: str, given: Payload) -> tuple[Payload, Exception | None]:
        """Apply a verb to a payload; one that cannot be read here comes back as it was."""
        if verb == "encode":
            return (await self._codec.encode([given]))[0], None
        try:
            return (await self._codec.decode([given]))[0], None
        except (PayloadLocked, ValueError) as unread:
            return given, unread

    async def page(self, request: Request) -> Response:
        """Return the page for opening a session, for a UI that passes no access token on."""
        if not self._callers.take_tokens:
            return _said(404, "this codec server takes access tokens alone")
        return HTMLResponse(_PAGE.format(said="Enter its token to see encrypted payloads."))

    async def login(self, request: Request) -> Response:
        """Open a session in the browser of a caller with the token."""
        if int(request.headers.get("content-length") or _MOST_BYTES) > 10_000:
            return _said(400, "that is no token")
        token = (await request.body()).decode("ascii", "replace")
        if not self._callers.knows(parse_qs(token).get("token", [""])[0]):
            return HTMLResponse(_PAGE.format(said="That is not its token."), 401)
        done = HTMLResponse(
            "<!doctype html><p>The session is open. Go back to the Temporal UI.</p>"
        )
        done.set_cookie(
            COOKIE,
            self._callers.open_session(),
            max_age=SESSION_S,
            secure=self._is_tls,
            httponly=True,
            samesite="none" if self._is_tls else "strict",
        )
        return done


class _OwnOrigins(CORSMiddleware):
    """Lets pages of the allowed origins alone reach a codec server in a private network."""

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if not self.is_allowed_origin(request_headers["origin"]):
            del response.headers["Access-Control-Allow-Private-Network"]
        return response


def create_codec_app(
    codec: PayloadCodec, callers: Callers, *, origins: Collection[str], is_tls: bool = False
) -> Starlette:
    """Return the codec server as an ASGI application, for Web UIs of these origins.

    With TLS browsers reach it by https, so a session counts across sites.
    """
    app = CodecApp(codec, callers, is_tls=is_tls)
    paths = [f"{before}/{verb}" for before in ("", "/{namespace}") for verb in ("decode", "encode")]
    return Starlette(
        routes=[
            *(Route(path, app.answer, methods=["POST"]) for path in paths),
            Route("/", app.page),
            Route("/login", app.login, methods=["POST"]),
        ],
        middleware=[
            Middleware(
                _OwnOrigins,
                allow_origins=list(origins),
                allow_methods=["POST"],
                allow_headers=["Authorization", "Content-Type", "X-Namespace"],
                allow_credentials=True,
                allow_private_network=True,
            )
        ],
    )


async def _read(request: Request) -> Payloads | str:
    """Return the payloads of a request, or a text that says what is wrong with it."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            return f"a request may have {_MOST_BYTES // 1_000_000} MB; send fewer payloads at once"
    try:
        return json_format.Parse(body, Payloads(), ignore_unknown_fields=True)
    except (json_format.ParseError, UnicodeDecodeError, RecursionError, ValueError):
        # Not the parser's words: they quote what it read.
        return "the body is no JSON of payloads, as Temporal's codec protocol has it"


def _said(status: int, message: str) -> JSONResponse:
    headers = {**_NOT_KEPT, "WWW-Authenticate": "Bearer"} if status == 401 else _NOT_KEPT
    return JSONResponse({"message": message}, status, headers=headers)
