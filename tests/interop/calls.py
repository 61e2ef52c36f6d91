"""The calls of a trial: each tool with what it requires, and with all that it takes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import httpx
from pydantic import JsonValue

from orchestrator.adapters.http.request import place_arguments
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid, OrchestratorError, TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.testing.sample_arguments import make_arguments
from tests.fakes import MemoryPii
from tests.interop.listing import PORT
from tests.interop.prism import Judgement, judgement_of

Width = Literal["required", "all"]
WIDTHS: Final[tuple[Width, ...]] = ("required", "all")
_ANSWER_BYTES: Final = 50_000_000
_TIMEOUT_S: Final = 20.0
_SHOWN: Final = 2_000_000


@dataclass
class Call:
    """One call: what was sent, what the server made of it, and what we made of its answer."""

    tool: str
    operation: str
    width: Width
    arguments: JsonObject = field(default_factory=dict)
    meant: JsonValue = None
    """The body that the arguments stand for."""
    not_sent: str = ""
    """Why nothing was sent."""
    unanswered: str = ""
    """Why no answer came to what was sent."""
    no_arguments: bool = False
    """Whether that is because none could be made up."""
    sent: str = ""
    content_type: str = ""
    body: str = ""
    judgement: Judgement | None = None
    answer: str = ""
    answer_type: str = ""
    outcome: str = ""
    breach: str = ""


class AnySecret:
    """A credential store that holds a made-up value under every name."""

    def get(self, name: str) -> str:
        """A value that fits both a token and basic authentication."""
        return "interop:made-up"


class Caller:
    """Calls tools through the product's own client, and keeps what went over the wire."""

    def __init__(self, catalog: Catalog, address: str) -> None:
        self._catalog = catalog
        self._wire = _Witness()
        http = httpx.AsyncClient(transport=self._wire, trust_env=False)
        self._client = ToolClient(
            secrets=AnySecret(),
            pii=MemoryPii(),
            server_variables={
                name: {PORT: address.rpartition(":")[2]} for name in catalog.documents
            },
            http=http,
            max_answer_bytes=_ANSWER_BYTES,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def calls(self, tool: Tool) -> list[Call]:
        """A tool's calls; where it takes nothing optional, the second is left out."""
        made: list[Call] = []
        for width, arguments in self._argument_sets(tool):
            if made and arguments == made[0].arguments:
                continue
            made.append(await self._call(tool, width, arguments))
        return made

    def _argument_sets(self, tool: Tool) -> Iterator[tuple[Width, JsonObject | ArgumentsInvalid]]:
        for width in WIDTHS:
            try:
                yield (
                    width,
                    make_arguments(self._catalog, tool, seed="interop", whole=width == "all"),
                )
            except ArgumentsInvalid as error:
                yield width, error

    async def _call(
        self, tool: Tool, width: Width, arguments: JsonObject | ArgumentsInvalid
    ) -> Call:
        call = Call(tool.name, f"{tool.method} {tool.path}", width)
        if isinstance(arguments, ArgumentsInvalid):
            call.not_sent, call.no_arguments = str(arguments), True
            return call
        call.arguments = arguments
        call.meant = place_arguments(tool, arguments, body_required=False).body
        self._wire.request = self._wire.response = None
        try:
            outcome = await self._client.call(
                self._catalog,
                tool,
                arguments,
                call_id=f"interop.{tool.name}.{width}",
                idempotency_key="interop-key",
                timeout_s=_TIMEOUT_S,
            )
        except TransportFailed as error:
            call.unanswered = str(error)
        except OrchestratorError as error:
            call.not_sent = str(error)
        except Exception as error:
            call.not_sent = f"TRACEBACK {type(error).__name__}: {error}"
        else:
            call.outcome, call.breach = outcome.kind, outcome.contract_breach or ""
        self._note(call)
        return call

    def _note(self, call: Call) -> None:
        request, response = self._wire.request, self._wire.response
        if request is not None:
            call.sent = f"{request.method} {request.url.raw_path.decode()}"
            call.content_type = request.headers.get("content-type", "")
            call.body = request.content.decode("utf-8", "replace")[:_SHOWN]
        if response is not None:
            call.judgement = judgement_of(response)
            call.answer = response.text[:_SHOWN]
            call.answer_type = response.headers.get("content-type", "")


class _Witness(httpx.AsyncHTTPTransport):
    """Keeps the last request and the whole answer to it."""

    def __init__(self) -> None:
        super().__init__()
        self.request: httpx.Request | None = None
        self.response: httpx.Response | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its answer, read to its end."""
        await request.aread()
        self.request = request
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        data = b"".join([chunk async for chunk in response.stream])
        await response.stream.aclose()
        self.response = httpx.Response(
            response.status_code, headers=response.headers, content=data, request=request
        )
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=httpx.ByteStream(data),
            extensions=response.extensions,
        )
