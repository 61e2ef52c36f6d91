"""The ledger of a mission, read from the events of its runs alone."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.mission_history import read_ledger
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.core.errors import PayloadLocked
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.failure_details import MissingState
from orchestrator.messages.rollback import CompensateInput
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome
from tests.fakes import fake_obligation
from tests.unit.activities.made_calls import made_call
from tests.unit.adapters.temporal.made_histories import NOW, Run, Server

S = ObligationState
DONE = ToolOutcome(kind="succeeded", status=200, cancel_inputs={"id": "b1"}, answered_at=NOW)


def booked(call_id: str = "m.1-trip.1", **stated: Any) -> Obligation:
    return fake_obligation(call_id, **stated)


def call_of(obligation: Obligation | None, **more: Any) -> ToolCall:
    call_id = obligation.obligation_id if obligation else "m.1-trip.9"
    fields = {"mission_id": "m", "leg_id": "1-trip", "obligation": obligation, **more}
    return made_call(fields.pop("call_id", call_id), **fields)


def cancel_of(call_id: str, **ids: Any) -> CancelCall:
    at = NOW + timedelta(minutes=1)
    return CancelCall(call_id=call_id, tool="cancel", arguments=ids, names=ids, written_at=at)


async def sent(run: Run, call: ToolCall, outcome: ToolOutcome | None = None) -> int:
    scheduled = await run.schedule(names.INVOKE_TOOL, call)
    if outcome is not None:
        await run.complete(scheduled, outcome)
    return scheduled


async def states(server: Server) -> dict[str, ObligationState]:
    ledger, _ = await read_ledger(server.client, "m")
    return {o.obligation_id: o.state for o in ledger.obligations}


async def test_each_result_settles_its_call_and_no_result_leaves_it_unclear() -> None:
    """An attempt that failed, timed out, or is on its way may have reached its provider."""
    run = await Run("1").start()
    await sent(run, call_of(booked("m.1-trip.1")), DONE)
    await sent(run, call_of(booked("m.1-trip.2")), ToolOutcome(kind="rejected", reason="sold out"))
    await run.fail(await sent(run, call_of(booked("m.1-trip.3"))))
    run.time_out(await sent(run, call_of(booked("m.1-trip.4"))))
    await sent(run, call_of(booked("m.1-trip.5")))
    await sent(run, call_of(booked("m.1-trip.6")), ToolOutcome(kind="unknown", reason="HTTP 503"))
    ledger, notes = await read_ledger(Server().keep("m", run).client, "m")

    assert [o.state for o in ledger.obligations] == [S.COMMITTED, S.VOID, *[S.INTENDED] * 4]
    assert ledger.obligation("m.1-trip.1").cancel_inputs == {"id": "b1"}
    assert ledger.obligation("m.1-trip.1").committed_at == NOW
    assert notes == ()


async def test_a_call_that_was_held_back_is_void_until_it_is_sent() -> None:
    """Its worker said that nothing was sent; one that may have arrived before stays unclear."""
    run = await Run("1").start()
    held = await sent(run, call_of(booked("m.1-trip.1")))
    await run.fail(held, MissingState(error_type="CatalogNotFound"))
    unclear = await sent(run, call_of(booked("m.1-trip.2"), may_have_arrived=True))
    await run.fail(unclear, MissingState(error_type="CatalogNotFound"))
    again = await sent(run, call_of(booked("m.1-trip.3")))
    await run.fail(again, MissingState(error_type="CatalogNotFound"))
    await sent(run, call_of(booked("m.1-trip.3"), postponed=1))

    assert await states(Server().keep("m", run)) == {
        "m.1-trip.1": S.VOID,
        "m.1-trip.2": S.INTENDED,
        "m.1-trip.3": S.INTENDED,
    }


async def test_what_the_mission_cancelled_itself_is_cancelled() -> None:
    """By a call of its own; while that is unclear, so is the obligation."""
    run = await Run("1").start()
    for step, booking in ((1, "b1"), (2, "b2")):
        outcome = DONE.model_copy(update={"cancel_inputs": {"id": booking}})
        await sent(run, call_of(booked(f"m.1-trip.{step}")), outcome)
    await sent(run, call_of(None, cancels=cancel_of("m.1-trip.9", id="b1")), DONE)
    unclear = call_of(None, call_id="m.1-trip.8", cancels=cancel_of("m.1-trip.8", id="b2"))
    run.time_out(await sent(run, unclear))
    ledger, _ = await read_ledger(Server().keep("m", run).client, "m")

    first, second = ledger.obligations
    assert (first.state, first.cancelled_by) == (S.CANCELLED, "m.1-trip.9")
    assert second.state is S.COMMITTED
    assert second.cancel_call is not None
    assert len(ledger.cancels) == 2


async def test_an_overcharge_that_the_mission_had_cancelled() -> None:
    """Its cancel was sent, and settled it, or came to nothing clear."""
    run = await Run("1").start()
    made = [booked(f"m.1-trip.{n}") for n in (1, 2, 3)]
    for one in made:
        await sent(run, call_of(one), DONE)
    committed = [one.answered(DONE, at=NOW) for one in made]
    first, second, third = [
        await run.schedule(names.COMPENSATE, CompensateInput(obligation=o)) for o in committed
    ]
    await run.complete(first, CompensationOutcome(state="cancelled"))
    await run.fail(second, CompensationFailure(reason="HTTP 503", arrived=False))
    run.time_out(third)
    ledger, _ = await read_ledger(Server().keep("m", run).client, "m")

    assert [o.state for o in ledger.obligations] == [S.CANCELLED, S.COMMITTED, S.COMMITTED]
    assert [o.cancel_sent for o in ledger.obligations[1:]] == [False, True]


def carried(*obligations: Obligation) -> JsonObject:
    """The input of a mission that continues with one leg that has made these."""
    made: list[JsonValue] = [o.model_dump(mode="json") for o in obligations]
    leg: JsonObject = {"leg": {"leg_id": "1-trip"}, "state": {"ledger": {"obligations": made}}}
    return {"request": {"goal": "a trip"}, "carried": {"legs": [leg]}, "of a later release": 1}


async def test_a_run_that_continues_has_what_it_carries() -> None:
    """Also where the server has forgotten the run before."""
    before = booked("m.1-trip.1").answered(DONE, at=NOW)
    run = await Run("2", first="1").start(carried(before), continued="1")
    await sent(run, call_of(booked("m.1-trip.2")), DONE)

    assert await states(Server().keep("m", run)) == dict.fromkeys(
        ("m.1-trip.1", "m.1-trip.2"), S.COMMITTED
    )


async def test_a_mission_that_is_started_with_a_past_has_none() -> None:
    """Whoever may start workflows could write it; only a server says that one continues."""
    run = await Run("1").start(carried(booked("m.1-trip.1")))

    assert await states(Server().keep("m", run)) == {}


async def test_what_a_reset_abandoned_still_counts() -> None:
    """The base run is linked from the reset; where both have a call, the settled state wins."""
    base = await Run("1").start()
    first = await sent(base, call_of(booked("m.1-trip.1")))
    await sent(base, call_of(booked("m.1-trip.2")), DONE)
    await base.complete(first, DONE)
    reset = await Run("2", first="1").start()
    run_again = await sent(reset, call_of(booked("m.1-trip.1")))
    reset.reset_from(base)
    reset.time_out(run_again)
    await sent(reset, call_of(booked("m.1-trip.3")))
    server = Server().keep("m", base, reset)

    assert await states(server) == {
        "m.1-trip.1": S.COMMITTED,
        "m.1-trip.2": S.COMMITTED,
        "m.1-trip.3": S.INTENDED,
    }


async def test_another_call_under_the_same_id_is_kept_beside_it() -> None:
    """The branch that a reset began decided otherwise at the same step: both may stand."""
    base = await Run("1").start()
    await sent(base, call_of(booked("m.1-trip.1", arguments={"to": "Oslo"})), DONE)
    reset = await Run("2", first="1").start()
    reset.reset_from(base)
    later = NOW + timedelta(hours=1)
    await sent(reset, call_of(booked("m.1-trip.1", arguments={"to": "Rome"}, written_at=later)))
    ledger, _ = await read_ledger(Server().keep("m", base, reset).client, "m")

    assert [o.arguments["to"] for o in ledger.obligations] == ["Oslo", "Rome"]
    assert ledger.obligation("m.1-trip.1").arguments == {"to": "Rome"}
    assert all(o.idempotency_key == "m.1-trip.1" for o in ledger.obligations)
    assert all(names.mission_of(o.obligation_id) == "m" for o in ledger.obligations)


async def test_an_earlier_mission_of_the_same_id_is_another_mission() -> None:
    """Its runs have another first run; what it did is its own."""
    old = await Run("1").start()
    await sent(old, call_of(booked("m.1-trip.1")), DONE)
    new = await Run("5").start()
    await sent(new, call_of(booked("m.1-trip.2")), DONE)

    assert await states(Server().keep("m", old, new)) == {"m.1-trip.2": S.COMMITTED}


async def test_what_is_of_another_mission_is_passed_over_with_a_note() -> None:
    """By the ids of the call and of what it leaves."""
    run = await Run("1").start()
    await sent(run, call_of(booked("other.1-trip.1")))
    await sent(run, call_of(booked("m.1-trip.2", mission_id="other")))
    await sent(run, call_of(booked("m.1-trip.3"), call_id="m.1-trip.4"))
    await run.schedule(names.COMPENSATE, CompensateInput(obligation=booked("other.1-trip.5")))
    await sent(run, call_of(booked("m.1-trip.6")))
    ledger, notes = await read_ledger(Server().keep("m", run).client, "m")

    assert [o.obligation_id for o in ledger.obligations] == ["m.1-trip.6"]
    assert len(notes) == 4


async def test_an_answer_with_the_id_of_another_obligation_is_unclear() -> None:
    """As the mission's workflow takes it."""
    run = await Run("1").start()
    named = DONE.model_copy(update={"answered_ids": {"id": "b1"}})
    await sent(run, call_of(booked("m.1-trip.1")), named)
    await sent(run, call_of(booked("m.1-trip.2")), named)

    assert list((await states(Server().keep("m", run))).values()) == [S.COMMITTED, S.INTENDED]


async def test_encrypted_histories_are_read_with_the_clients_key() -> None:
    """As workers and clients have it; without it nothing is taken for empty."""
    sealed = mission_converter(PayloadKeys.of_text(f"k:{new_payload_key()}"))
    run = await Run("1", converter=sealed).start()
    await sent(run, call_of(booked()), DONE)
    run.time_out(await sent(run, call_of(booked("m.1-trip.2"))))

    assert await states(Server(sealed).keep("m", run)) == {
        "m.1-trip.1": S.COMMITTED,
        "m.1-trip.2": S.INTENDED,
    }
    with pytest.raises(PayloadLocked):
        await states(Server(mission_converter()).keep("m", run))


async def test_a_long_history_is_read_past_all_that_is_no_call() -> None:
    """Fifty thousand events of other kinds, and the one of a call behind them."""
    run = await Run("1").start()
    run.events += [HistoryEvent(event_type=EventType.EVENT_TYPE_TIMER_STARTED)] * 50_000
    await sent(run, call_of(booked()), DONE)

    assert await states(Server().keep("m", run)) == {"m.1-trip.1": S.COMMITTED}
    # What calls of a mission left that the server does not keep, the store knows.
    assert await states(Server()) == {}
