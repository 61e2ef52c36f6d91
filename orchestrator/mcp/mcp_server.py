"""The MCP server: lists tools and resources, and passes each call to its handler as its person."""

import asyncio
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final, cast

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject, Record
from orchestrator.mcp import mission_resources
from orchestrator.mcp.catalog_tools import CatalogTools
from orchestrator.mcp.exchange import TASKS, Exchange, read_state
from orchestrator.mcp.mission_answers import MissionAnswer
from orchestrator.mcp.mission_tasks import add_task_handlers
from orchestrator.mcp.mission_tools import MISSION_TOOLS, START, Outcome, check_arguments, text_of
from orchestrator.web.api.tools import catalog_of
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError, problem_of
from orchestrator.web.web_service import Service

Context = ServerRequestContext[Any, Any]
Caller = Callable[[Context], Person]
"""Returns the person of a request."""
_INSTRUCTIONS: Final = (
    "Missions book, pay, send and delete for people. Nothing here lets a model approve: give the "
    "person the link of each card, and look at the mission again. A call that was lost can be made "
    "again with the same idempotency key."
)
_TOOLS_PER_PAGE: Final = 200
_CURSOR: Final = re.compile(r"[0-9]{1,6}")
"""A cursor is the number of the first tool of its page."""
_log = logging.getLogger(__name__)


def mcp_server(service: Service, caller: Caller, *, inbox: str) -> Server[Any]:
    """Return the server.

    Args:
        service: the connections. Its decisions are unsigned: no MCP client proves a person.
        caller: who sends a request.
        inbox: the address at which people decide.
    """
    return _Handlers(service, caller, inbox).server()


class _Handlers:
    def __init__(self, service: Service, caller: Caller, inbox: str) -> None:
        if service.signer is not None:
            raise ValueError("decisions that come through an MCP client are never signed")
        self._service = service
        self._caller = caller
        self._inbox = inbox

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "orchestrator",
            version=version("orchestrator-missions"),
            title="Orchestrator missions",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=lambda _: None,  # no input is mirrored in a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        server.extensions = {TASKS: {}}
        add_task_handlers(server, self._exchange)
        return server

    def _exchange(
        self, context: Context, params: types.InputResponseRequestParams | None = None
    ) -> Exchange:
        return Exchange(
            service=self._service,
            person=self._caller(context),
            inbox=self._inbox,
            context=context,
            responses=(params.input_responses or {}) if params is not None else {},
            resumed=read_state(params.request_state if params is not None else None),
        )

    # -- tools ------------------------------------------------------------------------------------

    async def _tools(self) -> CatalogTools:
        catalog = await catalog_of(self._service.settings)
        return await asyncio.to_thread(CatalogTools.of, catalog)

    async def _list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List a page of the tools that the person has the right to call."""
        person = self._caller(context)
        listed = [one.listed() for one in MISSION_TOOLS.values() if person.may(one.right)]
        if person.may(Right.START):
            listed += (await self._tools()).listed
        cursor = (params.cursor if params is not None else None) or "0"
        first = int(cursor) if _CURSOR.fullmatch(cursor) else -1
        if first not in range(0, max(1, len(listed)), _TOOLS_PER_PAGE):
            raise MCPError(types.INVALID_PARAMS, "there is no such page of tools")
        after = first + _TOOLS_PER_PAGE
        return types.ListToolsResult(
            tools=listed[first:after], next_cursor=str(after) if after < len(listed) else None
        )

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        exchange = self._exchange(context, params)
        try:
            outcome = await self._outcome(exchange, params)
        except (ProblemError, OrchestratorError) as error:
            return failed(problem_of(error))
        except MCPError:
            raise
        except Exception as bug:  # its text may hold anything: only the log has it
            _log.exception("a call of an MCP client failed")
            return failed(problem_of(bug))
        if isinstance(outcome, Record):
            return result_of(outcome, is_work=params.name == START)
        # A task has the shape of its extension, which the types of the SDK do not know.
        return cast("types.CallToolResult", outcome)

    async def _outcome(self, exchange: Exchange, params: types.CallToolRequestParams) -> Outcome:
        given: JsonValue = params.arguments or {}
        limits = self._service.limits
        arguments = check_arguments(given, depth=limits.body_depth, most_bytes=limits.body_bytes)
        tool = MISSION_TOOLS.get(params.name)
        check_right(exchange.person, tool.right if tool is not None else Right.START)
        if tool is not None:
            return await tool.handler(exchange, tool.read(arguments))
        return await (await self._tools()).call(exchange, params.name, arguments)

    # -- resources --------------------------------------------------------------------------------

    async def _list_resources(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        exchange = self._exchange(context)
        with_right(exchange.person, Right.READ)
        return await mission_resources.listed(exchange)

    async def _list_templates(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=mission_resources.TEMPLATES)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        exchange = self._exchange(context)
        with_right(exchange.person, Right.READ)
        return await mission_resources.read(exchange, params.uri)


def check_right(person: Person, right: Right) -> None:
    """Refuse a person who lacks a right.

    Raises:
        ProblemError: they have no role with it.
    """
    if not person.may(right):
        detail = f"{person.subject} has no role with the right to {right}"
        raise ProblemError(HTTPStatus.FORBIDDEN, detail, code="RightMissing")


def with_right(person: Person, right: Right) -> None:
    """Refuse a person who lacks a right, as an error of the protocol.

    Raises:
        MCPError: they have no role with it.
    """
    try:
        check_right(person, right)
    except ProblemError as problem:
        raise MCPError(types.INVALID_PARAMS, problem.problem.detail) from None


def result_of(outcome: Record, *, is_work: bool = False) -> types.CallToolResult:
    """Return a record as the result of a call.

    Args:
        outcome: the record.
        is_work: the call was to do what a mission did: it failed if the mission failed.
    """
    mission = outcome if isinstance(outcome, MissionAnswer) else None
    text = text_of(outcome) if mission is None else mission.markdown()
    content: JsonObject = outcome.model_dump(mode="json")
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=content,
        is_error=is_work and mission is not None and mission.failed,
    )


def failed(error: ProblemError) -> types.CallToolResult:
    """Return a problem as the result of a call, for a model that may correct itself."""
    problem = error.problem
    return types.CallToolResult(
        content=[types.TextContent(text=problem.detail or problem.title)],
        structured_content=problem.model_dump(mode="json", exclude_defaults=True),
        is_error=True,
    )
