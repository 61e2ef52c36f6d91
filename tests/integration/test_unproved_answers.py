"""Providers whose answers prove nothing: what is said of them is what happened, on real parts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.client.start import new_mission_id
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.saga.obligation import Obligation, ObligationState
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
        self.answers: dict[str, dict[str, list[Answer]]] = {}
        """By mission, then by what is asked: missions run side by side."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; with None, by closing its connection."""
        request = Request(scope, receive)
        asked = await request.json() if request.method == "POST" else dict(request.query_params)
        what, reference = scope["path"].strip("/"), str(asked.get("client_reference"))
        told = self.answers_about(reference).get(what, [])
        answer = told.pop(0) if len(told) > 1 else next(iter(told), None)
        response = (answer or HONEST[what])(self, reference)
        # Half of an answer: the client's connection breaks off.
        await (response or Response(headers={"content-length": "9"}))(scope, receive, send)

    def answers_about(self, reference: str) -> dict[str, list[Answer]]:
        """Return the answers to the mission whose booking has this reference."""
        return self.answers[reference.partition(".")[0]]


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
    rooms.answers_about(reference)["find"] = [says(NO_BOOKING), does(book, NO_BOOKING), find]
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


Ran = tuple[MissionResult, Obligation, dict[str, Any] | None]


async def ran(
    hotel: tuple[Installation, Rooms],
    *,
    undo: bool = True,
    policy: MissionPolicy = QUICK,
    **answers: list[Answer],
) -> Ran:
    """A mission that books a room while the hotel answers so: its result, and what is held."""
    running, rooms = hotel
    mission_id = new_mission_id("script")
    rooms.answers[mission_id] = answers
    end = [GiveUp(reason="the test wants it cancelled")] if undo else []
    booking = CallTool(tool="room_book", arguments={})
    mission = await running.start_script(booking, *end, mission_id=mission_id, policy=policy)
    result = await run_to_end(mission)
    (obligation,) = result.ledger.obligations
    return result, obligation, rooms.held.get(obligation.key)


async def ends(
    hotel: tuple[Installation, Rooms], cases: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str | None, ObligationState]]:
    """Run missions side by side, for they mostly wait; return what is held and said of each."""
    each = await asyncio.gather(*(ran(hotel, **case) for case in cases.values()))
    assert all(obligation.note for _, obligation, _ in each if obligation.state is S.PARKED)
    return {
        name: (held["state"] if held else None, obligation.state)
        for name, (_, obligation, held) in zip(cases, each, strict=True)
    }


async def test_a_cancel_that_did_nothing_is_parked(hotel: tuple[Installation, Rooms]) -> None:
    """Whatever it answered: the room is still booked, and an operator sees it."""
    answers = {
        "a page": PAGE,
        "an error": JSONResponse({"error": "cancellation_failed"}),
        "a declared failure": JSONResponse({"state": "ended", "error": "too late"}),
        "a lie": JSONResponse({"state": "ended"}),
        "accepted": JSONResponse({"state": "ended"}, 202),
    }
    found = await ends(hotel, {name: {"cancel": [says(one)]} for name, one in answers.items()})

    assert found == dict.fromkeys(answers, ("open", S.PARKED))


ANOTHERS = {"booking": "another-guests", "client_reference": "theirs", "state": "open"}


async def test_an_answer_about_anothers_booking_is_none(
    hotel: tuple[Installation, Rooms],
) -> None:
    """The provider mixes up two answers: what is ours is taken back, and theirs is left alone."""
    wrong = JSONResponse(ANOTHERS, 201)
    booked, not_booked = await asyncio.gather(
        ran(hotel, book=[does(book, wrong)]), ran(hotel, book=[says(wrong)])
    )

    assert booked[1].state is S.CANCELLED
    assert booked[2] is not None
    assert booked[2]["state"] == "ended"
    assert (not_booked[1].state, not_booked[2]) == (S.VOID, None)
    for result, _, _ in (booked, not_booked):
        assert ANOTHERS["booking"] not in result.model_dump_json()


async def test_a_cancel_that_did_its_work_is_found_out_by_the_probe(
    hotel: tuple[Installation, Rooms],
) -> None:
    """The answer proves nothing, the probe does."""
    answers = {"a page": PAGE, "accepted": JSONResponse({"state": "ended"}, 202)}
    cases = {name: {"cancel": [does(cancel, one)]} for name, one in answers.items()}

    assert await ends(hotel, cases) == dict.fromkeys(answers, ("ended", S.CANCELLED))


async def test_a_booking_that_was_none_is_no_success(hotel: tuple[Installation, Rooms]) -> None:
    """The mission does not succeed, and rollback finds that there is nothing."""
    answers = [LOGIN, JSONResponse({"error": "sold_out"})]
    each = await asyncio.gather(*(ran(hotel, undo=False, book=[says(one)]) for one in answers))

    for result, obligation, held in each:
        assert result.status is not MissionStatus.SUCCEEDED
        assert (held, obligation.state) == (None, S.VOID)


async def test_a_booking_that_a_page_hid_is_found(hotel: tuple[Installation, Rooms]) -> None:
    """The probe knows it, so the leg goes on."""
    result, obligation, held = await ran(hotel, undo=False, book=[does(book, LOGIN)])

    assert held is not None
    assert obligation.state is S.COMMITTED
    assert obligation.response == held
    assert result.receipts


async def test_a_lost_booking_is_not_void_by_what_is_no_answer(
    hotel: tuple[Installation, Rooms],
) -> None:
    """It stands, and an operator sees it; nobody else's is touched."""
    answers = {
        "a gateway's 404": NO_ROUTE,
        "another's booking": JSONResponse(ANOTHERS),
        "another's, ended": JSONResponse({**ANOTHERS, "state": "ended"}),
    }
    cases = {n: {"book": [does(book, None)], "find": [says(one)]} for n, one in answers.items()}

    assert await ends(hotel, cases) == dict.fromkeys(answers, ("open", S.PARKED))


async def test_a_refusal_after_a_lost_success_settles_nothing(
    hotel: tuple[Installation, Rooms],
) -> None:
    """The room was booked by the first attempt: it is found, and cancelled."""
    refusals = {f"{status}": JSONResponse({"title": "no"}, status) for status in (402, 422)}
    cases = {
        name: {"policy": TWICE, "book": [does(book, JSONResponse({}, 500)), says(refused)]}
        for name, refused in refusals.items()
    }

    assert await ends(hotel, cases) == dict.fromkeys(refusals, ("ended", S.CANCELLED))


async def test_a_refused_repetition_is_settled_by_a_probe_that_shows_the_call(
    hotel: tuple[Installation, Rooms],
) -> None:
    """At once, and nothing is cancelled for it: the room is booked, or the call is over."""

    def books_as(state: str) -> Answer:
        def deed(rooms: Rooms, reference: str) -> Response:
            book(rooms, reference)
            rooms.held[reference]["state"] = state
            return JSONResponse({}, 500)

        return deed

    refused = JSONResponse({"title": "no funds"}, 402)
    states = {"open": S.COMMITTED, "ended": S.VOID}
    each = await asyncio.gather(
        *(
            ran(hotel, undo=False, policy=TWICE, book=[books_as(state), says(refused)])
            for state in states
        )
    )

    for (state, settled), (result, obligation, held) in zip(states.items(), each, strict=True):
        assert held is not None
        assert (held["state"], obligation.state) == (state, settled)
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


async def test_an_accepted_booking_is_followed_to_its_end(
    hotel: tuple[Installation, Rooms],
) -> None:
    """In the state that it was accepted in it is neither; one that failed is no success."""
    patient = QUICK.model_copy(update={"call_timeout": timedelta(seconds=15)})

    def shown(end: str) -> list[Answer]:
        return [in_state("queued"), in_state("queued"), in_state(end), find]

    done, failed = await asyncio.gather(
        *(
            ran(hotel, undo=False, policy=patient, book=[queued], find=shown(end))
            for end in ("open", "failed")
        )
    )

    assert (done[0].status, done[1].state) == (MissionStatus.SUCCEEDED, S.COMMITTED)
    assert failed[0].status is not MissionStatus.SUCCEEDED
    assert failed[1].state is S.CANCELLED


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
