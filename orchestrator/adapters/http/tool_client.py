"""ToolClient: one attempt of one tool call over HTTP, from checked arguments to its outcome."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from http.cookiejar import CookieJar
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import quote

import httpx

from orchestrator.adapters.http.addresses import AddressPolicy, AddressRefused
from orchestrator.adapters.http.answer import Answer, file_told_by, read_answer, unkept_file
from orchestrator.adapters.http.answer_checks import AnswerChecks
from orchestrator.adapters.http.attempt import Attempt, Wire
from orchestrator.adapters.http.credentials import Credential, basic_token, resolve_credentials
from orchestrator.adapters.http.endpoint import Endpoint, Endpoints
from orchestrator.adapters.http.masking import Hidden, Mask, hide_personal, hide_secret
from orchestrator.adapters.http.oauth import ClientKey, Tokens
from orchestrator.adapters.http.only_hosts import OnlyHosts
from orchestrator.adapters.http.pinning import (
    PersonalValues,
    PinnedArguments,
    pin_arguments,
    read_values,
)
from orchestrator.adapters.http.placement import Placement, place_arguments
from orchestrator.adapters.http.request import build_request
from orchestrator.adapters.http.reveal import personal_literals, reveal_arguments
from orchestrator.adapters.http.sent_files import FileStore, SentFiles, find_files
from orchestrator.adapters.http.servers import ServerVariables
from orchestrator.adapters.http.transport import CheckedTransport, check_destination
from orchestrator.adapters.http.transport_errors import HTTPX_ERRORS, fault_of, transport_failure
from orchestrator.adapters.secrets import SecretStore
from orchestrator.adapters.telemetry.instruments import (
    Telemetry,
    default_telemetry,
    tool_call_span,
    trace_headers,
)
from orchestrator.adapters.wire_logs import wire_logs_dropped
from orchestrator.catalog.arguments import by_text, check_arguments, check_names, needed_handles
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import (
    ArgumentsInvalid,
    DocumentInvalid,
    EgressRefused,
    SecretMissing,
    StateLacking,
    UsageError,
)
from orchestrator.core.pii import Handle
from orchestrator.core.received_files import file_handles_in
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome

_CALL_ID_HEADER = "X-Request-Id"
_RESOLVES_WITHIN_S = 2.0
"""How long is waited for a host's name before a call is prepared."""


_CHECKED_WITHIN_S = 4.0
"""How long the check of a large answer may take after the time of its call: an activity has five
seconds for all but the wire."""


class _NoCookies(CookieJar):
    """Keeps none: no call depends on the one before, and providers decide how many they set."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Leave the cookies of an answer unread."""


class ToolClient:
    """Calls tools over HTTP: one attempt each, for retries are the engine's.

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
    ) -> None:
        """Take what the calls need.

        Args:
            secrets: asked for credentials at each call.
            pii: asked for personal values at each call.
            server_variables: values that override the defaults of the servers' variables, by
                document.
            allowed_private_hosts: hosts that may be called at addresses that are not public: this
                machine, a private network, link-local ones.
            only_hosts: the hosts, with or without a port, that are called at all; none: every one.
            proxy: URL of an HTTP proxy for all calls; the environment's is never used.
            max_answer_bytes: a larger body of JSON or text is not read.
            files: keeps the files that missions are answered with; without it they are only told.
            max_file_bytes: a larger file is not kept.
            http: closed with this client, and trusted with where it connects to; by default one is
                made that obeys `allowed_private_hosts`, `only_hosts` and `proxy`.
            telemetry: by default what is installed in the process.
            sends_trace: whether providers are sent the `traceparent` of a call that is traced.
        """
        self._sends_trace = sends_trace
        self._secrets = secrets
        self._pii = pii
        self._max_answer_bytes = max_answer_bytes
        self._files = files
        self._max_file_bytes = max_file_bytes
        self._policy: AddressPolicy | None = None
        self._only = OnlyHosts()
        # A proxy resolves the names itself.
        self._resolves_within_s = 0.0 if proxy else _RESOLVES_WITHIN_S
        if http is None:
            self._policy = AddressPolicy(allowed_private_hosts)
            self._only = OnlyHosts(only_hosts)
            transport = CheckedTransport(self._policy, proxy=proxy, only=self._only)
            http = httpx.AsyncClient(transport=transport, trust_env=False)
        http.cookies = _NoCookies()
        self._http = http
        self._telemetry = telemetry or default_telemetry()
        self._endpoints = Endpoints(server_variables)
        self._tokens = Tokens(self._http)
        self._checks = AnswerChecks()

    async def __aenter__(self) -> Self:
        """This client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        self._checks.close()
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
    ) -> ToolOutcome:
        """Send one request and read its answer.

        Args:
            catalog: the tool's.
            tool: what to call.
            arguments: its inputs; personal fields are handles, such as `pii:traveler_id` for the
                vault owner's current value, or with the version that `pin` gave them.
            call_id: sent as X-Request-Id.
            idempotency_key: sent in the field that the tool declares for it, if it declares one.
            timeout_s: hard limit of everything, in seconds: no part of the call outlives it.
            mission_id: whose call it is: of values that missions brought, and of files that they
                received, it may carry its own.

        Returns:
            What it came to. Personal values and credentials that were sent and that the answer
            repeats are replaced in it by their handles and names.

        Raises:
            ArgumentsInvalid: nothing was sent; names each fault.
            PiiMissing: nothing was sent; the vault lacks these fields, or (PiiGone) the very values
                that are meant.
            SecretMissing: nothing was sent; a credential is not configured.
            TokenRefused: nothing was done; the token endpoint does not know our client.
            EgressRefused: nothing was sent; no declared server, or one at an address that is not
                public and not allowed.
            StateLacking: nothing was sent, or nothing was done by it: the store of the files that
                it carries, or is answered with, is away.
            DocumentInvalid: nothing was sent; the document is at fault.
            UsageError: nothing was sent; a server variable or the vault is at fault.
            TransportFailed: no answer; says whether the provider may have acted all the same.
        """
        needed = needed_handles(catalog, tool, arguments)
        # All is the contract's to check, but for names it does not know; and with handles, before
        # any value is read. Who is refused is told of every fault at once.
        carries_files = bool(file_handles_in(arguments))
        if needed or carries_files or check_names(catalog, tool, arguments):
            problems = check_arguments(catalog, tool, arguments)
            if problems:
                raise ArgumentsInvalid(tool.name, problems)
        endpoint = self._endpoints.of(catalog, tool)
        given = idempotency_key or (None if tool.is_side_effect else call_id)
        key = tool.key_of(given) if given is not None else None
        span = tool_call_span(self._telemetry, tool, base_url=endpoint.base_url, call_id=call_id)
        with span as facts, wire_logs_dropped():
            call = Attempt(endpoint, call_id, key, timeout_s, facts, mission_id, arguments)
            return await self._within_time(catalog, call, arguments, needed)

    async def _within_time(
        self, catalog: Catalog, call: Attempt, arguments: JsonObject, needed: Sequence[Handle]
    ) -> ToolOutcome:
        """The call under its deadline.

        Not httpx's timeouts, which begin anew with every byte that arrives.
        """
        tool, loop = call.endpoint.tool, asyncio.get_running_loop()
        until = loop.time() + call.timeout_s
        try:
            async with asyncio.timeout(call.timeout_s):
                placement, personal = await self._place(catalog, call, arguments, needed)
                answer, mask = await self._answered(call, placement, personal)
                if answer.status == 401 and self._forget_stale(call):
                    # Refused, so nothing was done: the same request once more, with a new token.
                    call.wire = Wire()
                    answer, mask = await self._answered(call, placement, personal)
        except AddressRefused as refused:
            raise _egress_refused(tool, refused) from None
        except TimeoutError:
            fault = call.wire.late_fault
            raise transport_failure(tool.name, fault, f"{call.timeout_s:g} s") from None
        answer = await self._with_file_kept(call, answer, mask)
        within_s = until - loop.time() + _CHECKED_WITHIN_S
        outcome = await self._checks.outcome_of(call, answer, mask, within_s=within_s)
        call.facts.outcome = outcome.kind
        return outcome

    async def _place(
        self, catalog: Catalog, call: Attempt, arguments: JsonObject, needed: Sequence[Handle]
    ) -> tuple[Placement, list[Hidden]]:
        """The arguments in their places, with their real values, found right; and what to hide."""
        tool = call.endpoint.tool
        values = await self._values(call, needed) if needed else {}
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
        violations = call.endpoint.contract.request_violations(placement)
        hidden = [hide_personal(handle, value) for handle, value in personal]
        if violations:
            mask = Mask(hidden)
            # By the names of the tool's inputs where it can be said so, else by the document's.
            problems = check_arguments(catalog, tool, arguments) or violations
            raise ArgumentsInvalid(tool.name, [mask.text(text) for text in problems])
        return placement, hidden

    async def _answered(
        self, call: Attempt, placement: Placement, personal: Sequence[Hidden]
    ) -> tuple[Answer, Mask]:
        """The answer to one request, and what hides in it what was sent."""
        credentials = await self._credentials(call) if call.endpoint.credentials else []
        mask = Mask([*personal, *_hidden(credentials)])
        headers = {_CALL_ID_HEADER: quote(call.call_id, safe=":@/+=")}
        if self._sends_trace:
            headers |= trace_headers()
        request = build_request(
            call.endpoint, placement, headers=headers, credentials=credentials, files=call.files
        )
        request.extensions["timeout"] = httpx.Timeout(call.timeout_s).as_dict()
        request.extensions["trace"] = call.wire.on_event
        return await self._exchange(call, request, mask), mask

    async def _credentials(self, call: Attempt) -> list[tuple[Credential, str]]:
        """The credentials that the call carries, with their values."""
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

    def _forget_stale(self, call: Attempt) -> bool:
        """Forget the kept tokens that a call carried; whether there were any."""
        stale = [used for used in call.tokens if not used[2].is_fresh]
        for used in stale:
            self._tokens.forget(*used)
        return bool(stale)

    async def _values(self, call: Attempt, needed: Sequence[Handle]) -> dict[Handle, str]:
        tool = call.endpoint.tool.name
        return await asyncio.to_thread(
            read_values, tool, needed, self._pii, mission_id=call.mission_id
        )

    async def pin(
        self,
        catalog: Catalog,
        tool: Tool,
        arguments: JsonObject,
        *,
        mission_id: str,
        brought: Collection[Handle] = (),
    ) -> PinnedArguments:
        """The arguments with every handle meaning one value from now on, or why they cannot.

        With what the files are whose handles stand in them: those mean one content anyway.

        Args:
            catalog: the tool's.
            tool: what is to be called.
            arguments: its inputs.
            mission_id: whose call it is.
            brought: the handles of the values that the mission was started with.

        Raises:
            UsageError: the vault cannot be opened.
            StateLacking: the store of the files cannot be read now.
        """
        needed = needed_handles(catalog, tool, arguments)
        pinned = PinnedArguments(arguments)
        if needed:
            pinned = await asyncio.to_thread(
                pin_arguments, arguments, needed, self._pii, mission_id=mission_id, brought=brought
            )
        return await self._with_files(catalog, tool, pinned, mission_id)

    async def _with_files(
        self, catalog: Catalog, tool: Tool, pinned: PinnedArguments, mission_id: str
    ) -> PinnedArguments:
        """The same, with what the files are that the call would send."""
        if not file_handles_in(pinned.arguments):
            return pinned
        try:
            endpoint = self._endpoints.of(catalog, tool)
        except (DocumentInvalid, EgressRefused, UsageError):
            return pinned  # it is an obstacle, and told as one
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

    async def _with_file_kept(self, call: Attempt, answer: Answer, mask: Mask) -> Answer:
        """The answer with its file kept, and the handle in its place.

        Raises:
            StateLacking: it cannot be kept now, of a tool that changes nothing: it is asked again.
        """
        if answer.file is None or self._files is None or not call.mission_id:
            return answer
        told = file_told_by(answer, answer.file, mask.text)
        try:
            kept = await asyncio.to_thread(
                self._files.keep,
                call.mission_id,
                answer.file,
                content_type=told.content_type,
                name=told.name,
            )
        except StateLacking:
            if not call.endpoint.tool.is_side_effect:
                raise
            # What the provider did must not be lost by that.
            away = unkept_file(told, "the store was away when it came")
            return replace(answer, body=away)
        return replace(answer, body=kept.as_answer())

    async def obstacles(self, catalog: Catalog, tool: Tool) -> tuple[str, ...]:
        """What must be configured before a call of a tool can be sent, a sentence each.

        Its server, the credentials of one of its security alternatives (of OAuth the client's key,
        no token is asked for), and whether its host and its token endpoint may be called, at the
        addresses that they lead to.

        Raises:
            DocumentInvalid, EgressRefused: no configuration helps; the document is at fault.
        """
        found = []
        try:
            endpoint = self._endpoints.of(catalog, tool)
        except UsageError as error:
            return (str(error),)
        urls = [endpoint.base_url]
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
                await self._check_destination(url)
            except AddressRefused as refused:
                found.append(str(_egress_refused(tool, refused)))
        return tuple(found)

    async def _check_destination(self, url: httpx.URL) -> None:
        self._only.check(url)
        if self._policy is not None:
            await check_destination(self._policy, url.host, within_s=self._resolves_within_s)

    async def _exchange(self, call: Attempt, request: httpx.Request, mask: Mask) -> Answer:
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
            return await self._read(call, response, mask)

    async def _read(self, call: Attempt, response: httpx.Response, mask: Mask) -> Answer:
        """The answer; a body that broke off is missed only where the call may have happened.

        A success without its body is no success yet: the same key brings the body again. What was
        refused stays refused, with or without the reason.
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


def _origin(url: str) -> httpx.URL:
    return httpx.URL(url).copy_with(raw_path=b"/", fragment=None)


def _egress_refused(tool: Tool, refused: AddressRefused) -> EgressRefused:
    return EgressRefused(
        tool.name,
        refused.host,
        f"leads to {refused.address}, which is {refused.kind}; {refused.remedy}",
    )


def _hidden(credentials: Iterable[tuple[Credential, str]]) -> list[Hidden]:
    hidden = []
    for credential, value in credentials:
        written = [value]
        if credential.scheme == "basic":
            written += [basic_token(value), value.partition(":")[2]]
        hidden += [hide_secret(credential.secret.name, one) for one in written]
    return hidden
