"""Providers whose answers prove nothing: what is said of them is what happened, on real parts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.saga.ledger import Obligation, ObligationState
from orchestrator.testing import run_to_end
from orchestrator.testing.installation import QUICK, Installation, installed

S = ObligationState
Answer = Callable[["Rooms", str], Response | None]
PAGE = HTMLResponse("<html>back soon</html>")
LOGIN = HTMLResponse("<html>please log in</html>")
NO_ROUTE = HTMLResponse("<html>no route</html>", 404)
NO_BOOKING = JSONResponse({"title": "no such booking"}, 404, media_type="application/problem+json")
TWICE = QUICK.model_copy(update={"call_attempts": 2})


class Rooms:
    """A hotel: it holds bookings by the reference that came with them, and answers as told."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, list[Answer]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; with None, by closing its connection."""
        request = Request(scope, receive)
        asked = await request.json() if request.method == "POST" else dict(request.query_params)
        what, reference = scope["path"].strip("/"), str(asked.get("client_reference"))
        told = self.answers.get(what, [])
        answer = told.pop(0) if len(told) > 1 else next(iter(told), None)
        response = (answer or HONEST[what])(self, reference)
        # Half of an answer: the client's connection breaks off.
        await (response or Response(headers={"content-length": "9"}))(scope, receive, send)


def book(rooms: Rooms, reference: str) -> Response:
    """Book a room, once per reference, and say so."""
    number = f"b{len(rooms.held) + 1}"
    booking = {"booking": number, "client_reference": reference, "state": "open"}
    return JSONResponse(rooms.held.setdefault(reference, booking), 201)


def cancel(rooms: Rooms, reference: str) -> Response:
    """End the booking, and say so."""
    rooms.held[reference]["state"] = "ended"
    return JSONResponse({"state": "ended"})


def find(rooms: Rooms, reference: str) -> Response:
    """The booking of a reference."""
    return JSONResponse(rooms.held[reference]) if reference in rooms.held else NO_BOOKING


HONEST: dict[str, Answer] = {"book": book, "cancel": cancel, "find": find}


def says(response: Response | None) -> Answer:
    """An answer that does nothing."""
    return lambda rooms, reference: response


def does(deed: Answer, response: Response | None) -> Answer:
    """An answer that does what is asked, and says something else."""

    def answer(rooms: Rooms, reference: str) -> Response | None:
        deed(rooms, reference)
        return response

    return answer


def later(rooms: Rooms, reference: str) -> Response:
    """Take a booking on, and make it while it is being looked for."""
    rooms.answers["find"] = [says(NO_BOOKING), does(book, NO_BOOKING), find]
    return JSONResponse({"queued": True}, 202)


def _json(schema: dict[str, Any], *, media_type: str = "application/json") -> dict[str, Any]:
    return {"description": "so", "content": {media_type: {"schema": schema}}}


def _operation(name: str, responses: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": f"{name}.",
        "description": "Use this when a test wants it. Returns the booking.",
        "x-orchet-tool": True,
        "responses": responses,
        **more,
    }


def document(port: int) -> dict[str, Any]:
    """The hotel's: cancelled bookings are kept, and a cancel is given up after one attempt."""
    text = {"type": "string", "maxLength": 200}
    booking = {
        "type": "object",
        "required": ["booking", "client_reference", "state"],
        "properties": {
            "booking": text,
            "client_reference": text,
            "state": {"type": "string", "enum": ["open", "ended", "queued", "failed"]},
        },
    }
    ended = {
        "type": "object",
        "required": ["state"],
        "properties": {"state": {"enum": ["ended"]}, "error": text},
    }
    sent = {"type": "object", "properties": {"client_reference": text}}
    body = {"required": True, "content": {"application/json": {"schema": sent}}}
    key = {"name": "Idempotency-Key", "in": "header", "schema": text}
    by_reference = {"client_reference": "$request.body#/client_reference"}
    looked_up = {**key, "name": "client_reference", "in": "query", "required": True}
    problem = _json(
        {"type": "object", "required": ["title"]}, media_type="application/problem+json"
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rooms", "version": "1"},
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "paths": {
            "/book": {
                "post": _operation(
                    "room_book",
                    {"201": _json(booking), "202": _json({"type": "object"})},
                    requestBody=body,
                    parameters=[key],
                    **{
                        "x-orchet-requires-confirmation": False,
                        "x-orchet-cancels": "room_cancel",
                        "x-orchet-compensation-args": by_reference,
                        "x-orchet-compensation-max-attempts": 1,
                        "x-orchet-compensation-probe": {
                            "operationId": "room_find",
                            "args": by_reference,
                            "gone-when": '$response.body#/state == "ended"',
                            "settles-after": 5,
                        },
                    },
                )
            },
            "/cancel": {
                "post": _operation(
                    "room_cancel",
                    {"200": _json(ended)},
                    requestBody=body,
                    parameters=[key],
                    **{
                        "x-orchet-requires-confirmation": False,
                        "x-orchet-cancel-for": "room_book",
                        "x-orchet-success-when": "!$response.body#/error",
                    },
                )
            },
            "/find": {
                "get": _operation(
                    "room_find", {"200": _json(booking), "404": problem}, parameters=[looked_up]
                )
            },
        },
    }


class _Server(uvicorn.Server):
    """Leaves the signals of the test process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@pytest.fixture(scope="module")
async def hotel(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Installation, Rooms]]:
    """Real workers over that document, and the hotel that it speaks of."""
    rooms, listening = Rooms(), socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(rooms, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    documents = {"rooms": document(listening.getsockname()[1])}
    folder = tmp_path_factory.mktemp("rooms")
    async with installed(documents, folder, own_providers=True) as running:
        yield running, rooms
    server.should_exit = True
    await serving


async def ran(
    hotel: tuple[Installation, Rooms],
    *,
    undo: bool = True,
    policy: MissionPolicy = QUICK,
    **answers: list[Answer],
) -> tuple[MissionResult, Obligation, dict[str, Any] | None]:
    """A mission that books a room while the hotel answers so: its result, and what is held."""
    running, rooms = hotel
    rooms.held.clear()
    rooms.answers = answers
    end = [GiveUp(reason="the test wants it cancelled")] if undo else []
    mission = await running.start_script(
        CallTool(tool="room_book", arguments={}), *end, policy=policy
    )
    result = await run_to_end(mission)
    (obligation,) = result.ledger.obligations
    return result, obligation, rooms.held.get(obligation.key)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(PAGE, marks=pytest.mark.long),
        pytest.param(JSONResponse({"error": "cancellation_failed"}), marks=pytest.mark.long),
        JSONResponse({"state": "ended", "error": "too late"}),
        JSONResponse({"state": "ended"}),
        JSONResponse({"state": "ended"}, 202),
    ],
    ids=["a page", "an error", "a declared failure", "a lie", "accepted"],
)
async def test_a_cancel_that_did_nothing_is_parked(
    hotel: tuple[Installation, Rooms], answer: Response
) -> None:
    """Whatever it answered: the room is still booked, and an operator sees it."""
    _, obligation, held = await ran(hotel, cancel=[says(answer)])

    assert held is not None
    assert (held["state"], obligation.state) == ("open", S.PARKED)
    assert obligation.note


ANOTHERS = {"booking": "another-guests", "client_reference": "theirs", "state": "open"}


@pytest.mark.parametrize("is_booked", [True, False])
async def test_an_answer_about_anothers_booking_is_none(
    hotel: tuple[Installation, Rooms], is_booked: bool
) -> None:
    """The provider mixes up two answers: what is ours is taken back, and theirs is left alone."""
    wrong = JSONResponse(ANOTHERS, 201)
    result, obligation, held = await ran(
        hotel, book=[does(book, wrong) if is_booked else says(wrong)]
    )

    assert obligation.state is (S.CANCELLED if is_booked else S.VOID)
    assert (held or {}).get("state") == ("ended" if is_booked else None)
    assert ANOTHERS["booking"] not in result.model_dump_json()


@pytest.mark.parametrize(
    "answer", [PAGE, pytest.param(JSONResponse({"state": "ended"}, 202), marks=pytest.mark.long)]
)
async def test_a_cancel_that_did_its_work_is_found_out_by_the_probe(
    hotel: tuple[Installation, Rooms], answer: Response
) -> None:
    """The answer proves nothing, the probe does."""
    _, obligation, held = await ran(hotel, cancel=[does(cancel, answer)])

    assert held is not None
    assert (held["state"], obligation.state) == ("ended", S.CANCELLED)


@pytest.mark.parametrize(
    "answer", [pytest.param(LOGIN, marks=pytest.mark.long), JSONResponse({"error": "sold_out"})]
)
async def test_a_booking_that_was_none_is_no_success(
    hotel: tuple[Installation, Rooms], answer: Response
) -> None:
    """The mission does not succeed, and rollback finds that there is nothing."""
    result, obligation, held = await ran(hotel, undo=False, book=[says(answer)])

    assert result.status is not MissionStatus.SUCCEEDED
    assert (held, obligation.state) == (None, S.VOID)


async def test_a_booking_that_a_page_hid_is_found(hotel: tuple[Installation, Rooms]) -> None:
    """The probe knows it, so the leg goes on."""
    result, obligation, held = await ran(hotel, undo=False, book=[does(book, LOGIN)])

    assert held is not None
    assert obligation.state is S.COMMITTED
    assert obligation.response == held
    assert result.receipts


@pytest.mark.parametrize(
    "found",
    [
        says(NO_ROUTE),
        says(JSONResponse(ANOTHERS)),
        pytest.param(says(JSONResponse({**ANOTHERS, "state": "ended"})), marks=pytest.mark.long),
    ],
    ids=["a gateway's 404", "another's booking", "another's, ended"],
)
async def test_a_lost_booking_is_not_void_by_what_is_no_answer(
    hotel: tuple[Installation, Rooms], found: Answer
) -> None:
    """It stands, and an operator sees it; nobody else's is touched."""
    _, obligation, held = await ran(hotel, book=[does(book, None)], find=[found])

    assert held is not None
    assert (held["state"], obligation.state) == ("open", S.PARKED)


@pytest.mark.parametrize("status", [pytest.param(402, marks=pytest.mark.long), 422])
async def test_a_refusal_after_a_lost_success_settles_nothing(
    hotel: tuple[Installation, Rooms], status: int
) -> None:
    """The room was booked by the first attempt: it is found, and cancelled."""
    refused = JSONResponse({"title": "no"}, status)
    answers = [does(book, JSONResponse({}, 500)), says(refused)]

    _, obligation, held = await ran(hotel, policy=TWICE, book=answers)

    assert held is not None
    assert (held["state"], obligation.state) == ("ended", S.CANCELLED)


@pytest.mark.parametrize("state", ["open", "ended"])
async def test_a_refused_repetition_is_settled_by_a_probe_that_shows_the_call(
    hotel: tuple[Installation, Rooms], state: str
) -> None:
    """At once, and nothing is cancelled for it: the room is booked, or the call is over."""

    def deed(rooms: Rooms, reference: str) -> Response:
        book(rooms, reference)
        rooms.held[reference]["state"] = state
        return JSONResponse({}, 500)

    refused = JSONResponse({"title": "no funds"}, 402)
    result, obligation, held = await ran(
        hotel, undo=False, policy=TWICE, book=[deed, says(refused)]
    )

    assert held is not None
    assert held["state"] == state
    assert obligation.state is (S.COMMITTED if state == "open" else S.VOID)
    assert bool(result.receipts) is (state == "open")
    assert not result.cancelled


async def test_an_accepted_booking_is_waited_for(hotel: tuple[Installation, Rooms]) -> None:
    """Done is what the probe finds; until then nothing is said."""
    patient = QUICK.model_copy(update={"call_timeout": timedelta(seconds=15)})

    result, obligation, held = await ran(hotel, undo=False, policy=patient, book=[later])

    assert held is not None
    assert (obligation.state, obligation.response) == (S.COMMITTED, held)
    assert result.receipts


def in_state(state: str) -> Answer:
    """Bring the booking into a state, and show it."""

    def answer(rooms: Rooms, reference: str) -> Response:
        rooms.held[reference]["state"] = state
        return find(rooms, reference)

    return answer


def queued(rooms: Rooms, reference: str) -> Response:
    """Take a booking on, which is shown as queued until it is done."""
    book(rooms, reference)
    rooms.held[reference]["state"] = "queued"
    return JSONResponse(rooms.held[reference], 202)


@pytest.mark.parametrize(
    ("end", "kept"), [("open", S.COMMITTED), ("failed", S.CANCELLED)], ids=["done", "failed"]
)
async def test_an_accepted_booking_is_followed_to_its_end(
    hotel: tuple[Installation, Rooms], end: str, kept: ObligationState
) -> None:
    """In the state that it was accepted in it is neither; one that failed is no success."""
    patient = QUICK.model_copy(update={"call_timeout": timedelta(seconds=15)})
    shown = [in_state("queued"), in_state("queued"), in_state(end), find]

    result, obligation, _ = await ran(hotel, undo=False, policy=patient, book=[queued], find=shown)

    assert obligation.state is kept
    assert (result.status is MissionStatus.SUCCEEDED) is (end == "open")


async def test_a_cancel_that_shows_late_is_sent_once(hotel: tuple[Installation, Rooms]) -> None:
    """Its probe is asked again first: a second cancel would be refused."""
    shown = [in_state("open"), in_state("open"), in_state("ended")]
    refused = JSONResponse({"title": "on its way"}, 409)
    answers = [says(JSONResponse({"state": "ended"}, 202)), says(refused)]

    _, obligation, _ = await ran(hotel, cancel=answers, find=shown)

    assert (obligation.state, len(answers)) == (S.CANCELLED, 1)


async def test_an_accepted_booking_that_is_not_there_yet_is_never_void(
    hotel: tuple[Installation, Rooms],
) -> None:
    """It may be made at any time, so an operator has to look."""
    _, obligation, held = await ran(hotel, book=[says(JSONResponse({"queued": True}, 202))])

    assert (held, obligation.state) == (None, S.PARKED)
    assert "accepted" in obligation.note
