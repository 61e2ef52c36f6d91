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
_MOST: Final = 1_000
_LAST: Final = Header("Last-Event-ID", "the id of the last event received; goes before `after`")
_ABOUT: Final = (
    "Each event of the stream has its kind as `event`, its cursor as `id`, and an Event as `data`. "
    "The stream of a mission has `progress` as well, without an id: calls that take long, with "
    "their attempts, and the text that a model is sending. A stream that ends for good says so "
    "with the event `end`; one that fails, with `problem`. Others are closed after a while, and "
    "continued by `Last-Event-ID`. With `Accept: application/json` the events so far are returned "
    "as a list, continued by `after`."
)
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


@api.get(
    "/missions/{mission_id}/events",
    name="followMission",
    description=_ABOUT,
    answer=EventList,
    media_type=STREAM,
    headers=(_LAST,),
    problems=(HTTPStatus.BAD_REQUEST,),
)
async def mission_events(call: Call[None, EventQuery]) -> Answer:
    """Return the events of a mission, until it and its rollback are over."""
    after = _after(call)
    handle = await sight.seen_mission(call.service, call.person, call.part("mission_id"))
    await sight.requester_of(call.service, handle.mission_id)  # the store alone has no events
    if not _wants_stream(call):
        return await _listed(handle.events(after=after, follow=False), after)
    connection = call.service.client.connection
    return _streamed(
        call,
        interleaved(
            _until_over(handle.events(after=after)),
            _progress(progress_changes(connection, handle.mission_id)),
        ),
    )


@api.get(
    "/events",
    name="followAll",
    description=_ABOUT,
    answer=EventList,
    media_type=STREAM,
    headers=(_LAST,),
    problems=(HTTPStatus.BAD_REQUEST,),
)
async def all_events(call: Call[None, EventQuery]) -> Answer:
    """Return cards, decisions and questions of all missions that the caller sees."""
    is_live = _wants_stream(call)
    from_now = is_live and call.query.after == NOW and not call.header(_LAST.name)
    after = NOW if from_now else _after(call)
    service, person = call.service, call.person
    if not is_live:
        found = sight.seen_events(service, person, after=after, follow=False)
        return await _listed(found, after)
    return _streamed(call, _as_sent(sight.seen_events(service, person, after=after)))


def _after(call: Call[None, EventQuery]) -> str | None:
    """Return the cursor of a request, which was checked.

    Raises:
        UsageError: it is none.
    """
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
            if len(found) == _MOST:
                break
    return EventList(events=tuple(found), next=found[-1].cursor if found else after)


# -- streams --------------------------------------------------------------------------------------


def _streamed(call: Call[Any, Any], events: AsyncGenerator[ServerSentEvent, None]) -> Response:
    """Return a stream whose errors are its last event.

    Raises:
        ProblemError: the caller has no place left.
    """
    return opened_stream(
        _with_problems(events), service=call.service, request=call.request, person=call.person
    )


async def _with_problems(
    events: AsyncGenerator[ServerSentEvent, None],
) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield events, and an error as the last one."""
    try:
        async with aclosing(events):
            async for event in events:
                yield event
    except OrchestratorError as error:
        content = problem_of(error).problem.model_dump_json(exclude_defaults=True)
        yield ServerSentEvent(data=content, event="problem")


async def _as_sent(events: AsyncGenerator[AnyEvent, None]) -> AsyncGenerator[ServerSentEvent, None]:
    async with aclosing(events):
        async for event in events:
            content = event.model_dump_json()
            yield ServerSentEvent(data=content, event=event.kind, id=event.cursor)


async def _progress(
    changes: AsyncGenerator[tuple[CallProgress, ...], None],
) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the progress of calls, without ids: a stream does not continue after one of them."""
    async with aclosing(changes):
        async for calls in changes:
            content = Progress(calls=calls).model_dump_json()
            yield ServerSentEvent(data=content, event="progress")


async def _until_over(
    events: AsyncGenerator[AnyEvent, None],
) -> AsyncGenerator[ServerSentEvent, None]:
    async with aclosing(_as_sent(events)) as sent:
        async for event in sent:
            yield event
    yield ServerSentEvent(data="{}", event="end")
