"""Temporal's codec protocol over HTTP: payloads come as JSON, and go back opened or encrypted."""

import logging
from collections.abc import Collection, Sequence
from typing import Final
from urllib.parse import parse_qs

from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import ExternalStorage, PayloadCodec

from orchestrator.adapters.temporal.payload_references import PayloadReferences
from orchestrator.codec_server.callers import COOKIE, SESSION_S, Callers
from orchestrator.core.payload_errors import PayloadUnread

_log = logging.getLogger(__name__)
_MOST_BYTES: Final = 32_000_000
"""Of one request: the UI sends the payloads of a page of history at once."""
_HEADERS: Final = ("Authorization", "Content-Type", "X-Namespace")
_VERBS: Final = ("decode", "encode", "download")
_NOT_KEPT: Final = {"Cache-Control": "no-store"}
_OPEN: Final = "<!doctype html><p>The session is open. Go back to the Temporal UI.</p>"
_PAGE: Final = """<!doctype html><meta charset="utf-8"><title>Codec server</title>
<body style="font: 16px sans-serif; max-width: 40em; margin: 4em auto">
<h1>Codec server</h1><p>{said}</p>
<form method="post" action="/login"><label>Token <input name="token" type="password" autofocus>
</label> <button>Open a session</button></form>
<p>Then turn on <i>Include cross-origin credentials</i> in the codec settings of Temporal's UI.</p>
"""


class CodecApp:
    """Answers `/decode`, `/encode` and `/download`, with or without the namespace before it."""

    def __init__(
        self,
        codec: PayloadCodec,
        callers: Callers,
        *,
        storage: ExternalStorage | None = None,
        is_tls: bool = False,
    ) -> None:
        """Take what opens and encrypts payloads, and who may ask.

        Args:
            codec: with the keys of the workers.
            storage: where large payloads are kept.
            callers: who may ask.
            is_tls: whether browsers reach it by https: a session then counts across sites.
        """
        self._codec = codec
        self._references = PayloadReferences(storage)
        self._callers = callers
        self._is_tls = is_tls

    async def answer(self, request: Request) -> Response:
        """Payloads opened, or encrypted, in their order."""
        caller = await self._callers.name_of(request.headers, request.cookies.get(COOKIE))
        verb = request.url.path.rpartition("/")[2]
        if caller is None:
            _log.info("%s refused: who asks proved nothing", verb)
            return _said(401, "give the token of this codec server: Authorization: Bearer TOKEN")
        payloads = await _read(request)
        if isinstance(payloads, str):
            return _said(400, payloads)
        try:
            done = await self._done(verb, request, payloads.payloads)
        except PayloadUnread as unread:
            _log.info("%s refused to %s: %s", verb, caller, unread)
            return _said(400, str(unread))
        _log.info("%s: %d payloads for %s", verb, len(done), caller)
        return JSONResponse(json_format.MessageToDict(Payloads(payloads=done)), headers=_NOT_KEPT)

    async def _done(
        self, verb: str, request: Request, payloads: Sequence[Payload]
    ) -> list[Payload]:
        """What a verb makes of payloads.

        Raises:
            PayloadUnread: one of them cannot be read here.
        """
        if verb == "encode":
            return await self._codec.encode(payloads)
        # The UI shows references as they are until somebody asks for what they name.
        if verb == "download" or request.query_params.get("preserveStorageRefs") != "true":
            payloads = [await self._references.fetched(payload) for payload in payloads]
        return await self._codec.decode(payloads)

    async def page(self, request: Request) -> Response:
        """Where a person opens a session, for a UI that passes no access token on."""
        if not self._callers.take_tokens:
            return _said(404, "this codec server takes access tokens alone")
        return HTMLResponse(_PAGE.format(said="Whoever has its token may see what is encrypted."))

    async def login(self, request: Request) -> Response:
        """A session for the browser of whoever has the token."""
        if int(request.headers.get("content-length") or _MOST_BYTES) > 10_000:
            return _said(400, "that is no token")
        token = (await request.body()).decode("ascii", "replace")
        if not self._callers.knows(parse_qs(token).get("token", [""])[0]):
            return HTMLResponse(_PAGE.format(said="That is not its token."), 401)
        done = HTMLResponse(_OPEN)
        done.set_cookie(
            COOKIE,
            self._callers.open_session(),
            max_age=SESSION_S,
            secure=self._is_tls,
            httponly=True,
            samesite="none" if self._is_tls else "strict",
        )
        return done


def create_codec_app(
    codec: PayloadCodec,
    callers: Callers,
    *,
    origins: Collection[str],
    storage: ExternalStorage | None = None,
    is_tls: bool = False,
) -> Starlette:
    """The codec server as an ASGI application.

    Args:
        codec: with the keys of the workers.
        callers: who may ask.
        origins: of the Web UIs that may ask from a browser, as http://127.0.0.1:8233.
        storage: where large payloads are kept.
        is_tls: whether browsers reach it by https.
    """
    app = CodecApp(codec, callers, storage=storage, is_tls=is_tls)
    paths = [f"{before}/{verb}" for before in ("", "/{namespace}") for verb in _VERBS]
    return Starlette(
        routes=[
            *(Route(path, app.answer, methods=["POST"]) for path in paths),
            Route("/", app.page),
            Route("/login", app.login, methods=["POST"]),
        ],
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["POST"],
                allow_headers=list(_HEADERS),
                allow_credentials=True,
            )
        ],
    )


async def _read(request: Request) -> Payloads | str:
    """The payloads of a request; a text says what is wrong with it."""
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
