"""Missions as tasks of the extension `io.modelcontextprotocol/tasks` (2026-07-28).

A task's id is that of its mission, so that any process answers for it, also after a restart. A
card or a question makes it `input_required`: the request opens its page, and what a client answers
changes nothing, for only a decision in the inbox does.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from orchestrator.mcp.exchange import TASKS, Exchange, page_requests
from orchestrator.mcp.mission_answers import MissionAnswer, answer_of
from orchestrator.messages.mission import MissionStatus
from orchestrator.web import actions, sight
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError, problem_of

Context = ServerRequestContext[Any, Any]
MakeExchange = Callable[[Context], Exchange]
_POLL_MS: Final = 2_000


class _TaskParams(types.RequestParams):
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: types.InputResponses


async def created_task(exchange: Exchange, mission_id: str) -> JsonObject:
    """Return the task of a mission that was started, in place of a result."""
    answer = await exchange.answer(mission_id)
    return {"resultType": "task", **await _base(exchange, answer), "status": "working"}


def add_task_handlers(server: Server[Any], exchange_of: MakeExchange) -> None:
    """Serve tasks/get, tasks/update and tasks/cancel."""

    def handled(
        right: Right, work: Callable[[Exchange, str], Awaitable[JsonObject]]
    ) -> Callable[[Context, Any], Awaitable[JsonObject]]:
        async def handle(context: Context, params: _TaskParams) -> JsonObject:
            exchange = exchange_of(context)
            if not exchange.takes_tasks:
                wanted: JsonObject = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
                code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
                raise MCPError(code, "Missing required client capability", wanted)
            try:
                if not exchange.person.may(right):
                    raise sight.forbidden(exchange.person, f"{right} missions")
                return await work(exchange, params.task_id)
            except (ProblemError, OrchestratorError) as error:
                raise _as_protocol_error(error) from None

        return handle

    async def acknowledged(exchange: Exchange, mission_id: str) -> JsonObject:
        await sight.seen_mission(exchange.service, exchange.person, mission_id)
        return {}

    async def cancelled(exchange: Exchange, mission_id: str) -> JsonObject:
        await actions.cancel(exchange.service, exchange.person, mission_id)
        return {}

    server.add_request_handler("tasks/get", _TaskParams, handled(Right.READ, _task))
    server.add_request_handler("tasks/update", _UpdateParams, handled(Right.READ, acknowledged))
    server.add_request_handler("tasks/cancel", _TaskParams, handled(Right.START, cancelled))


def _as_protocol_error(error: Exception) -> MCPError:
    problem = problem_of(error).problem
    is_callers = problem.status < HTTPStatus.INTERNAL_SERVER_ERROR
    code = types.INVALID_PARAMS if is_callers else types.INTERNAL_ERROR
    return MCPError(code, problem.detail)


async def _task(exchange: Exchange, mission_id: str) -> JsonObject:
    """Return a mission as a task, with its result, or the pages of what it waits for."""
    view = await sight.seen_view(exchange.service, exchange.person, mission_id)
    answer = answer_of(view, mission_id, exchange.inbox)
    base = await _base(exchange, answer)
    if answer.over and answer.status == MissionStatus.CANCELLED:
        return {**base, "status": "cancelled"}
    if answer.over:
        return {**base, "status": "completed", "result": await _result(exchange, answer)}
    if exchange.elicits("url"):
        asked = page_requests(view.waits, exchange.inbox, questions=True)
        requests: JsonObject = {
            key: one.model_dump(mode="json", by_alias=True, exclude_none=True)
            for key, one in asked.items()
        }
        if requests:
            return {**base, "status": "input_required", "inputRequests": requests}
    return {**base, "status": "working"}


async def _result(exchange: Exchange, answer: MissionAnswer) -> JsonObject:
    from orchestrator.mcp.catalog_tools import answer_of_call, is_call
    from orchestrator.mcp.mcp_server import result_of

    if is_call(answer.mission_id):
        result = await answer_of_call(exchange, answer)
    else:
        result = result_of(answer, is_work=True)
    dumped: JsonObject = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


async def _base(exchange: Exchange, answer: MissionAnswer) -> JsonObject:
    """Return the fields of every task; the server keeps missions, so that it has no end."""
    waits = "; ".join(f"waits for {one.kind}: {one.url}" for one in answer.waits)
    return {
        "taskId": answer.mission_id,
        "statusMessage": waits or answer.error or answer.summary or answer.status,
        "createdAt": (answer.started_at or datetime.now(UTC)).isoformat(),
        "lastUpdatedAt": (answer.finished_at or datetime.now(UTC)).isoformat(),
        "ttlMs": None,
        "pollIntervalMs": _POLL_MS,
    }
