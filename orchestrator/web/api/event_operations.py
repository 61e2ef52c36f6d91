"""Events: server-sent, or as a list, of one mission or of all that the caller sees."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field
from sse_starlette import ServerSentEvent
from starlette.responses import Response

from orchestrator.client.call_progress import CallProgress, progress_changes
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import Record
from orchestrator.messages.events import AnyEvent, read_cursor
from orchestrator.web import sight
from orchestrator.web.api_operations import JSON, Answer, Call, Header, Operations
from orchestrator.web.open_streams import interleaved, opened_stream
from orchestrator.web.problem_details import problem_of
from orchestrator.web.shared_feed import NOW

STREAM: Final = "text/event-stream"
_LAST: Final = Header("Last-Event-ID", "the id of the last event received; goes before `after`")
api: Final = Operations("events")


class EventQuery(BaseModel):
    """Where a stream or list of events begins."""

    after: str | None = Field(
        default=None,
        max_length=60_000,
        description="the cursor of an event: only events that follow it; for a stream of all "
        "missions also `now`: no event from before",
    )


class Progress(Record):
    """The calls of a mission that take long, each time that one of them makes an attempt."""

    calls: tuple[CallProgress, ...] = Field(default=(), description="empty: all were answered")


class EventList(Record):
    """Events so far, in the order in which they occurred."""

    events: tuple[AnyEvent, ...] = ()
    next: str | None = Field(
        default=None, description="the cursor to continue after; None: there was none"
    )


_EVENTS: Final[dict[str, Any]] = {
    "description": "Each event of the stream has its kind as `event`, its cursor as `id`, and an "
    "Event as `data`. "
    "The stream of a mission has `progress` as well, without an id: calls that take long, with "
    "their attempts, and the text that a model is sending. A stream that ends for good says so "
    "with the event `end`; one that fails, with `problem`. Others are closed after a while, and "
    "continued by `Last-Event-ID`. With `Accept: application/json` the events so far are returned "
    "as a list, continued by `after`.",
    "answer": EventList,
    "media_type": STREAM,
    "headers": (_LAST,),
    "problems": (HTTPStatus.BAD_REQUEST,),
}


@api.get("/missions/{mission_id}/events", name="followMission", **_EVENTS)
async def mission_events(call: Call[None, EventQuery]) -> Answer:
    """Return the events of a mission, until it and its rollback are over."""
    after = _after(call)
    handle = await sight.seen_mission(call.service, call.person, call.part("mission_id"))
    await sight.requester_of(call.service, handle.mission_id)  # the store alone has no events
    if not _wants_stream(call):
        return await _listed(handle.events(after=after, follow=False), after)
    progress = _progress(progress_changes(call.service.client.connection, handle.mission_id))
    return _streamed(call, interleaved(_sent(handle.events(after=after), ends=True), progress))


@api.get("/events", name="followAll", **_EVENTS)
async def all_events(call: Call[None, EventQuery]) -> Answer:
    """Return cards, decisions and questions of all missions that the caller sees."""
    is_live = _wants_stream(call)
    from_now = is_live and call.query.after == NOW and not call.header(_LAST.name)
    after = NOW if from_now else _after(call)
    events = sight.seen_events(call.service, call.person, after=after, follow=is_live)
    return _streamed(call, _sent(events)) if is_live else await _listed(events, after)


def _after(call: Call[None, EventQuery]) -> str | None:
    """Return the cursor of a request; text that is none is a UsageError."""
    after = call.header(_LAST.name) or call.query.after
    if after:
        read_cursor(after)
    return after or None


def _wants_stream(call: Call[None, EventQuery]) -> bool:
    accepted = call.header("accept")
    return STREAM in accepted or JSON not in accepted


async def _listed(events: AsyncGenerator[AnyEvent, None], after: str | None) -> EventList:
    found: list[AnyEvent] = []
    async with aclosing(events):
        async for event in events:
            found.append(event)
            if len(found) == 1_000:
                break
    return EventList(events=tuple(found), next=found[-1].cursor if found else after)


def _streamed(call: Call[Any, Any], events: AsyncGenerator[ServerSentEvent, None]) -> Response:
    def problem(error: OrchestratorError) -> ServerSentEvent:
        content = problem_of(error).problem.model_dump_json(exclude_defaults=True)
        return ServerSentEvent(data=content, event="problem")

    return opened_stream(events, call.service, call.request, call.person, on_error=problem)


async def _sent(
    events: AsyncGenerator[AnyEvent, None], *, ends: bool = False
) -> AsyncGenerator[ServerSentEvent, None]:
    async with aclosing(events):
        async for event in events:
            content = event.model_dump_json()
            yield ServerSentEvent(data=content, event=event.kind, id=event.cursor)
    if ends:
        yield ServerSentEvent(data="{}", event="end")


async def _progress(
    changes: AsyncGenerator[tuple[CallProgress, ...], None],
) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the progress of calls, without ids: a stream does not continue after one of them."""
    async with aclosing(changes):
        async for calls in changes:
            content = Progress(calls=calls).model_dump_json()
            yield ServerSentEvent(data=content, event="progress")
