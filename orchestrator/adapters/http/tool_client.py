"""ToolClient: one attempt of one tool call over HTTP, from checked arguments to its outcome."""

import asyncio
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from http.cookiejar import CookieJar
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import quote

import httpx

from orchestrator.adapters.http.answer import Answer, described_file, read_answer, unstored_file
from orchestrator.adapters.http.answer_checks import AnswerChecks
from orchestrator.adapters.http.bodies import Files, FileStore, SentFiles, find_files
from orchestrator.adapters.http.credentials import (
    ClientGrant,
    ClientKey,
    Credential,
    Token,
    Tokens,
    basic_token,
    resolve_credentials,
)
from orchestrator.adapters.http.destinations import (
    AddressPolicy,
    AddressRefused,
    OnlyHosts,
    ServerVariables,
)
from orchestrator.adapters.http.endpoint import Endpoint, Endpoints
from orchestrator.adapters.http.masking import Hidden, Mask, hide_personal, hide_secret
from orchestrator.adapters.http.personal_arguments import (
    PersonalValues,
    PinnedArguments,
    personal_literals,
    pin_arguments,
    read_values,
    reveal_arguments,
)
from orchestrator.adapters.http.request import Placement, build_request, place_arguments
from orchestrator.adapters.http.transport import (
    HTTPX_ERRORS,
    CheckedTransport,
    FunctionTransport,
    check_destination,
    fault_of,
    transport_failure,
)
from orchestrator.adapters.mcp.mcp_transport import GIVEN, MOUNT, InputAsked, McpTransport, masked
from orchestrator.adapters.mcp.servers import McpServer
from orchestrator.adapters.secrets import SecretStore, wire_logs_dropped
from orchestrator.adapters.telemetry.instruments import (
    CallFacts,
    Telemetry,
    default_telemetry,
    tool_call_span,
    trace_headers,
)
from orchestrator.catalog.arguments import by_text, check_arguments, check_names, needed_handles
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.mcp_documents import HOSTS
from orchestrator.catalog.mcp_documents import TOOL as MCP_TOOL
from orchestrator.catalog.python_functions import DOCUMENT, SERVER, FunctionTool
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import (
    ArgumentsInvalid,
    DocumentInvalid,
    EgressRefused,
    SecretMissing,
    StateMissing,
    StoreUnavailable,
    UsageError,
)
from orchestrator.core.pii import Handle
from orchestrator.core.received_files import file_handles_in, handle_of_bytes
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import InputGiven, ToolOutcome, TransportFault

_CALL_ID_HEADER = "X-Request-Id"
_RESOLVES_WITHIN_S = 2.0
"""Time limit for resolving a host's name before a call is prepared."""
_TOKEN_PAUSES_S = (0.1, 0.3, 0.6, 1.2)
"""Pauses before a call is sent again with another token."""
_PLACED_WITHIN_S = 2.0
"""Time for the store to return personal values and files, before anything is sent."""
_CHECKED_WITHIN_S = 4.0
"""Time for the check of a large answer, in addition to that of its call.

An activity has five seconds for everything but the wire.
"""


@dataclass
class _Wire:
    """Progress of a request: given to the transport, and the steps that the transport reports."""

    begun: bool = False
    seen: bool = False
    sending: bool = False

    async def on_event(self, name: str, _: Mapping[str, object]) -> None:
        """Record a step; called by the transport."""
        self.seen = True
        if name.endswith("send_request_headers.started"):
            self.sending = True

    @property
    def late_fault(self) -> TransportFault:
        """The fault if the deadline passes now.

        Nothing was sent if the transport has not been called, or if it reports its steps and
        sending was not among them.
        """
        if not self.begun or (self.seen and not self.sending):
            return TransportFault.DEADLINE_BEFORE_SENDING
        return TransportFault.DEADLINE


@dataclass
class _Attempt:
    endpoint: Endpoint
    call_id: str
    idempotency_key: str | None
    timeout_s: float
    facts: CallFacts
    mission_id: str
    """The calling mission; empty if there is none."""
    arguments: JsonObject
    """Arguments of the tool, with handles in the place of personal values."""
    is_checked: bool
    """False to send what the contract does not allow."""
    headers: tuple[str, ...] = ()
    """Names of further headers of the answer to return, in lower case."""
    given: InputGiven | None = None
    files: Files = field(default_factory=dict, repr=False)
    wire: _Wire = field(default_factory=_Wire)
    tokens: list[tuple[ClientGrant, ClientKey, Token]] = field(default_factory=list)


class _NoCookies(CookieJar):
    """Ignores cookies: calls are independent, and providers decide how many they set."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        pass


class ToolClient:
    """Calls tools over HTTP, one attempt each: Temporal retries.

    ```python
    async with ToolClient(secrets=EnvironmentSecrets(), pii=Store(folder).vault) as tools:
        outcome = await tools.call(catalog, catalog.tool("flight_search_offers"), arguments,
                                   call_id="m1.travel.3", idempotency_key=None, timeout_s=20)
    ```
    """

    def __init__(
        self,
        *,
        secrets: SecretStore,
        pii: PersonalValues,
        server_variables: ServerVariables = MappingProxyType({}),
        allowed_private_hosts: Iterable[str] = (),
        only_hosts: Iterable[str] = (),
        proxy: str | None = None,
        max_answer_bytes: int = 1_000_000,
        files: FileStore | None = None,
        max_file_bytes: int = 10_000_000,
        http: httpx.AsyncClient | None = None,
        telemetry: Telemetry | None = None,
        sends_trace: bool = True,
        functions: Mapping[str, FunctionTool[Any, Any]] = MappingProxyType({}),
        mcp: Sequence[McpServer] = (),
    ) -> None:
        """Configure the calls.

        Args:
            secrets: asked for credentials at each call.
            pii: asked for personal values at each call.
            server_variables: override the defaults of the servers' variables, by document.
            allowed_private_hosts: hosts that may be called at addresses that are not public: this
                machine, a private network, link-local addresses.
            only_hosts: the only hosts, with or without a port, that are called; none: every host.
            proxy: URL of an HTTP proxy for all calls; the environment's is never used.
            max_answer_bytes: a larger body of JSON or text is not read.
            files: stores the files that missions receive; without it they are only described.
            max_file_bytes: a larger file is not stored.
            http: closed with this client, and trusted to choose its connections; by default a new
                client that obeys `allowed_private_hosts`, `only_hosts` and `proxy`.
            telemetry: by default the telemetry installed in the process.
            sends_trace: True if providers receive the `traceparent` of a traced call.
            functions: Python functions that are tools, by name.
            mcp: MCP servers whose tools are called, over `http`'s transport or as processes.
        """
        self._sends_trace = sends_trace
        self._secrets = secrets
        self._pii = pii
        self._max_answer_bytes = max_answer_bytes
        self._files = files
        self._max_file_bytes = max_file_bytes
        self._mcp: McpTransport | None = None
        self._policy: AddressPolicy | None = None
        self._only = OnlyHosts()
        # A proxy resolves the names itself.
        self._resolves_within_s = 0.0 if proxy else _RESOLVES_WITHIN_S
        if http is None:
            self._policy = AddressPolicy(allowed_private_hosts)
            self._only = OnlyHosts(only_hosts)
            transport = CheckedTransport(self._policy, proxy=proxy, only=self._only)
            self._mcp = McpTransport(mcp, secrets, transport, max_answer_bytes=max_answer_bytes)
            mounts = {SERVER: FunctionTransport(functions), MOUNT: self._mcp}
            http = httpx.AsyncClient(transport=transport, mounts=mounts, trust_env=False)
        http.cookies = _NoCookies()
        self._http = http
        self._telemetry = telemetry or default_telemetry()
        self._endpoints = Endpoints(server_variables)
        self._tokens = Tokens(self._http)
        self._checks = AnswerChecks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        self._checks.close()
        if self._mcp is not None:
            await self._mcp.aclose()  # sessions end by a last request, over the same connections
        await self._http.aclose()

    async def call(
        self,
        catalog: Catalog,
        tool: Tool,
        arguments: JsonObject,
        *,
        call_id: str,
        idempotency_key: str | None,
        timeout_s: float,
        mission_id: str = "",
        is_checked: bool = True,
        headers: tuple[str, ...] = (),
        given: InputGiven | None = None,
    ) -> ToolOutcome:
        """Send one request and read its answer.

        Args:
            catalog: the tool's.
            tool: the tool to call.
            arguments: its inputs; personal fields are handles, such as `pii:traveler_id` for the
                vault owner's current value, or with the version that `pin` gave them.
            call_id: sent as X-Request-Id.
            idempotency_key: sent in the field that the tool declares for it, if it declares one.
            timeout_s: hard limit, in seconds, of everything on the wire.
            mission_id: the calling mission; personal values and files of other missions are not
                sent.
            is_checked: False to send and to accept what breaks the contract, if HTTP can carry it.
            headers: names of headers of the answer to return, besides those that cancels read.
            given: the answer to the input that an MCP server asked for during this call.

        Returns:
            The outcome. Personal values and credentials that were sent and that the answer repeats
            are replaced in it by their handles and names.

        Raises:
            ArgumentsInvalid: names each fault.
            PiiMissing: the vault has no value of these fields, or (as PiiGone) no longer the pinned
                values.
            SecretMissing: a credential is not configured.
            EgressRefused: the server is not declared, or its address is neither public nor allowed.
            DocumentInvalid: the document is at fault.
            UsageError: a server variable or the vault is at fault, or (as TokenRefused) the token
                endpoint refuses this client.
            StateMissing: the store of files is unavailable; the call was not sent, or had no
                effect.
            TransportFailed: no answer; states if the provider may have acted all the same.

        After any but the last two, nothing was sent.
        """
        needed = needed_handles(catalog, tool, arguments)
        # The contract checks everything but unknown names. With handles, the tool's own schema is
        # checked before any value is read, so that a refusal lists every fault at once.
        if is_checked and (
            needed or file_handles_in(arguments) or check_names(catalog, tool, arguments)
        ):
            problems = check_arguments(catalog, tool, arguments)
            if problems:
                raise ArgumentsInvalid(tool.name, problems)
        endpoint = self._endpoints.of(catalog, tool)
        _check_is_function(endpoint)
        chosen = idempotency_key or (None if tool.is_side_effect else call_id)
        key = tool.key_of(chosen) if chosen is not None else None
        span = tool_call_span(self._telemetry, tool, base_url=endpoint.base_url, call_id=call_id)
        with span as facts, wire_logs_dropped():
            call = _Attempt(
                endpoint,
                call_id=call_id,
                idempotency_key=key,
                timeout_s=timeout_s,
                facts=facts,
                mission_id=mission_id,
                arguments=arguments,
                is_checked=is_checked,
                headers=headers,
                given=given,
            )
            return await self._within_time(catalog, call, needed)

    async def _within_time(
        self, catalog: Catalog, call: _Attempt, needed: Sequence[Handle]
    ) -> ToolOutcome:
        """Make the call under its deadline, after reading its values and files from the store.

        httpx's own timeouts do not serve, because they start again with every byte that arrives.
        """
        tool, loop = call.endpoint.tool, asyncio.get_running_loop()
        until = loop.time() + call.timeout_s
        try:
            async with asyncio.timeout(_PLACED_WITHIN_S):
                placement, personal = await self._place(catalog, call, needed)
            if loop.time() >= until:  # nothing is sent after its deadline
                raise TimeoutError
        except TimeoutError as late:
            raise StoreUnavailable("of this worker", "it has not answered in time") from late
        try:
            async with asyncio.timeout_at(until):
                answer, mask = await self._answered(call, placement, personal)
                for pause_s in _TOKEN_PAUSES_S:
                    if answer.status != 401 or not call.tokens:
                        break
                    # The provider refused and did nothing: send the same request again, with a new
                    # token. Another worker may have revoked a new token by requesting its own.
                    stale = [used for used in call.tokens if not used[2].is_fresh]
                    if not stale:
                        await asyncio.sleep(pause_s * (1 + random.random()))
                    for used in stale or call.tokens:
                        self._tokens.forget(*used)
                    call.wire = _Wire()
                    answer, mask = await self._answered(call, placement, personal)
        except AddressRefused as refused:
            raise _egress_refused(tool, refused) from None
        except InputAsked as asked:
            wanted = masked(asked.wanted, Mask(personal))
            asks = f"MCP server {wanted.server} asks for input, and only a mission asks people"
            why = wanted.why_refused or asks
            call.facts.outcome = "unknown"
            return ToolOutcome(kind="unknown", reason=why, wanted=wanted)
        except TimeoutError:
            fault = call.wire.late_fault
            raise transport_failure(tool.name, fault, f"{call.timeout_s:g} s") from None
        answer = await self._with_file_kept(call, answer, mask)
        outcome = await self._checks.outcome_of(
            call.endpoint,
            call.arguments,
            answer,
            mask,
            has_key=call.idempotency_key is not None,
            within_s=until + _CHECKED_WITHIN_S - loop.time(),
            is_checked=call.is_checked,
        )
        call.facts.outcome = outcome.kind
        further = {
            name: mask.text(answer.header(name)) for name in call.headers if name in answer.headers
        }
        return outcome.model_copy(update={"headers": further | outcome.headers} if further else {})

    # -- the request ------------------------------------------------------------------------------

    async def _place(
        self, catalog: Catalog, call: _Attempt, needed: Sequence[Handle]
    ) -> tuple[Placement, list[Hidden]]:
        tool, arguments = call.endpoint.tool, call.arguments
        values: dict[Handle, str] = {}
        if needed:
            values = await asyncio.to_thread(
                read_values, tool.name, needed, self._pii, mission_id=call.mission_id
            )
        personal = [*values.items(), *personal_literals(tool, arguments)]
        sent = await self._found_files(call.endpoint, arguments, call.mission_id)
        if sent.problems:
            raise ArgumentsInvalid(tool.name, sent.problems)
        call.files = sent.found
        placement = place_arguments(
            tool,
            by_text(tool, sent.in_text(tool, reveal_arguments(tool, arguments, values))),
            body_required=call.endpoint.body_required,
            key=call.idempotency_key,
        )
        contract = call.endpoint.contract
        violations = contract.request_violations(placement) if call.is_checked else ()
        hidden = [hide_personal(handle, value) for handle, value in personal]
        if violations:
            mask = Mask(hidden)
            # By the names of the tool's inputs if possible, else by the document's.
            problems = check_arguments(catalog, tool, arguments) or violations
            raise ArgumentsInvalid(tool.name, [mask.text(text) for text in problems])
        return placement, hidden

    async def _answered(
        self, call: _Attempt, placement: Placement, personal: Sequence[Hidden]
    ) -> tuple[Answer, Mask]:
        """Send one request; return its answer, and a mask of the values that were sent."""
        credentials = await self._credentials(call) if call.endpoint.credentials else []
        hidden = [*personal]
        for credential, value in credentials:
            written = [value]
            if credential.scheme == "basic":
                written += [basic_token(value), value.partition(":")[2]]
            hidden += [hide_secret(credential.secret.name, one) for one in written]
        mask = Mask(hidden)
        headers = {_CALL_ID_HEADER: quote(call.call_id, safe=":@/+=")}
        if self._sends_trace:
            headers |= trace_headers()
        request = build_request(
            call.endpoint, placement, headers=headers, credentials=credentials, files=call.files
        )
        request.extensions["timeout"] = httpx.Timeout(call.timeout_s).as_dict()
        request.extensions["trace"] = call.wire.on_event
        request.extensions[MCP_TOOL] = call.endpoint.mcp_tool
        request.extensions[GIVEN] = call.given
        call.wire.begun = True
        try:
            response = await self._http.send(
                request, stream=True, auth=None, follow_redirects=False
            )
        except HTTPX_ERRORS as error:
            failure = transport_failure(call.endpoint.tool.name, fault_of(error))
            raise failure from (error if mask.is_absent_from(error) else None)
        call.facts.status = response.status_code
        async with aclosing(response):
            return await self._read(call, response, mask), mask

    async def _credentials(self, call: _Attempt) -> list[tuple[Credential, str]]:
        # In a thread: a store may read a file or ask a server.
        found = await asyncio.to_thread(
            resolve_credentials, call.endpoint.credentials, self._secrets, call.endpoint.base_url
        )
        call.tokens = []
        credentials = []
        for credential, value in found:
            if isinstance(value, ClientKey):
                assert credential.grant is not None
                token = await self._tokens.get(call.endpoint.tool.name, credential.grant, value)
                call.tokens.append((credential.grant, value, token))
                value = token.value
            credentials.append((credential, value))
        return credentials

    # -- the answer -------------------------------------------------------------------------------

    async def _read(self, call: _Attempt, response: httpx.Response, mask: Mask) -> Answer:
        """Read the answer; a body that broke off is a failure only if the call may have worked.

        A success without its body is no success yet: the same key fetches the body again. A refusal
        is a refusal with or without its reason.
        """
        try:
            return await read_answer(
                response,
                max_bytes=self._max_answer_bytes,
                max_file_bytes=self._max_file_bytes,
                declared_types=call.endpoint.contract.answer_types,
                masked=mask.text,
            )
        except HTTPX_ERRORS as error:
            if 300 <= response.status_code < 500:
                fault = "the body broke off"
                return Answer(response.status_code, response.headers, is_empty=False, fault=fault)
            raise transport_failure(call.endpoint.tool.name, fault_of(error)) from error

    async def _with_file_kept(self, call: _Attempt, answer: Answer, mask: Mask) -> Answer:
        """Store the file of an answer, and put its handle in its place.

        Raises:
            StateMissing: the file cannot be stored now, and the tool changes nothing, so a retry is
                safe.
        """
        content = answer.file
        if content is None or self._files is None or not call.mission_id:
            return answer
        described = described_file(answer, handle_of_bytes(content), len(content), mask.text)
        named = {"content_type": described.content_type, "name": described.name}
        try:
            kept = await asyncio.to_thread(self._files.keep, call.mission_id, content, **named)
        except StateMissing:
            if not call.endpoint.tool.is_side_effect:
                raise
            # The provider acted, and the effect must not be lost with the file.
            return replace(answer, body=unstored_file(described, "the store was away when it came"))
        return replace(answer, body=kept.as_answer())

    # -- before a call ----------------------------------------------------------------------------

    async def pin(
        self,
        catalog: Catalog,
        tool: Tool,
        arguments: JsonObject,
        *,
        mission_id: str,
        brought: Collection[Handle] = (),
    ) -> PinnedArguments:
        """Return the arguments with a version in every handle, or the reasons why some have none.

        The values that the mission was started with (`brought`) precede the owner's. Files whose
        handles are in the arguments are described; such a handle means one content anyway.

        Raises:
            UsageError: the vault cannot be opened.
            StateMissing: the store of the files cannot be read now.
        """
        needed = needed_handles(catalog, tool, arguments)
        pinned = PinnedArguments(arguments)
        if needed:
            pinned = await asyncio.to_thread(
                pin_arguments, arguments, needed, self._pii, mission_id=mission_id, brought=brought
            )
        if not file_handles_in(pinned.arguments):
            return pinned
        try:
            endpoint = self._endpoints.of(catalog, tool)
        except (DocumentInvalid, EgressRefused, UsageError):
            return pinned  # `obstacles` reports it
        sent = await self._found_files(endpoint, pinned.arguments, mission_id)
        return replace(pinned, files=sent.received, unsendable=sent.problems)

    async def _found_files(
        self, endpoint: Endpoint, arguments: JsonObject, mission_id: str
    ) -> SentFiles:
        if not file_handles_in(arguments):
            return SentFiles()
        return await asyncio.to_thread(
            find_files, endpoint, arguments, self._files, mission_id=mission_id
        )

    async def obstacles(self, catalog: Catalog, tool: Tool) -> tuple[str, ...]:
        """Return the settings that are missing before a tool can be called, a sentence each.

        Covers its server, the credentials of one of its security alternatives (for OAuth the
        client's key; no token is requested), and the addresses of its host and token endpoint.

        Raises:
            DocumentInvalid, EgressRefused: no configuration helps; the document is at fault.
        """
        found = []
        try:
            endpoint = self._endpoints.of(catalog, tool)
        except UsageError as error:
            return (str(error),)
        _check_is_function(endpoint)
        is_mcp = _origin(endpoint.base_url).host.endswith(HOSTS)
        urls = [] if tool.document == DOCUMENT or is_mcp else [endpoint.base_url]
        if is_mcp and not (self._mcp and self._mcp.has(tool.document)):
            found.append(f"ORCHESTRATOR_MCP has no server called {tool.document}")
        try:
            credentials = await asyncio.to_thread(
                resolve_credentials, endpoint.credentials, self._secrets, endpoint.base_url
            )
        except SecretMissing as missing:
            credentials = ()
            found.append(str(missing))
        for credential, value in credentials:
            if isinstance(value, ClientKey) and credential.grant is not None:
                urls.append(credential.grant.token_url)
        for url in dict.fromkeys(map(_origin, urls)):
            try:
                self._only.check(url)
                if self._policy is not None:
                    limit_s = self._resolves_within_s
                    await check_destination(self._policy, url.host, within_s=limit_s)
            except AddressRefused as refused:
                found.append(str(_egress_refused(tool, refused)))
        return tuple(found)


def _check_is_function(endpoint: Endpoint) -> None:
    """Refuse another document that calls the functions of this worker under its own contract.

    Raises:
        EgressRefused: the document is not the worker's own.
    """
    tool, host = endpoint.tool, _origin(endpoint.base_url).host
    if tool.document != DOCUMENT and host == _origin(SERVER).host:
        raise EgressRefused(tool.name, f"at {host}, only functions of the worker are called")
    if host.endswith(HOSTS) and host != f"{tool.document}{HOSTS}":
        raise EgressRefused(tool.name, f"at {host}, only tools of that MCP server are called")


@lru_cache(maxsize=1024)
def _origin(url: str) -> httpx.URL:
    return httpx.URL(url).copy_with(raw_path=b"/", fragment=None)


def _egress_refused(tool: Tool, refused: AddressRefused) -> EgressRefused:
    return EgressRefused(
        tool.name,
        f"{refused.host} leads to {refused.address}, which is {refused.kind}; {refused.remedy}",
    )
