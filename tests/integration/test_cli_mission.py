"""Missions driven by nothing but commands, each in a process of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import DINNER, LEAVING, RETURNING, TRIP
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, eventually, run_to_end
from tests.fakes import own_id

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness


async def open_card(mission: MissionHandle, tool: str = "") -> ConfirmationCard:
    """The first card that waits, of one tool when it is named; other cards are approved."""

    async def wanted() -> ConfirmationCard | None:
        cards = await mission.confirmations()
        of_tool = [card for card in cards if tool in ("", card.tool)]
        for card in cards:
            if tool not in ("", card.tool):
                await approve(mission, card)
        return of_tool[0] if of_tool else None

    card = await eventually(wanted)
    assert card is not None
    return card


TRIP_AT_ONCE = TRIP.replace("for those nights", f"from {LEAVING} to {RETURNING}")
"""Two legs that need nothing of each other, and one that does."""
DINNER_AND_NEWS = DINNER.replace("about it", '"Dinner at eight"')


async def listed_cards(
    cli: Cli, client: MissionClient, mission_id: str, *, at_least: int
) -> list[dict[str, Any]]:
    """What `confirm list` shows of one mission, once that many cards of it wait.

    A client looks for them: each process that did would cost a second of a core.
    """

    async def enough() -> bool:
        cards = (await client.waiting()).cards
        return sum(card.mission_id == mission_id for card in cards) >= at_least

    await eventually(enough)
    shown = (await cli("confirm", "list", "--json")).json
    return [card for card in shown if card["mission_id"] == mission_id]


def approving(card: dict[str, Any]) -> tuple[str, ...]:
    """The command of a script that read this card and says yes."""
    return ("confirm", "approve", card["confirmation_id"], "--digest", card["digest"])


async def test_a_trip_from_start_to_receipts(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """`start --wait --json` in one process, `confirm list, show, approve` in others."""
    mission_id = own_id("trip-by-commands")
    start = ("mission", "start", TRIP_AT_ONCE, "--id", mission_id, "--wait", "--json")
    started = asyncio.create_task(cli(*start))
    first, second = await listed_cards(cli, client, mission_id, at_least=2)
    shown = await cli("confirm", "show", first["confirmation_id"])
    approved, other = await asyncio.gather(
        cli(*approving(first), "--approver", "ann", "--json"),
        cli(*approving(second)),
    )
    (expense,) = await listed_cards(cli, client, mission_id, at_least=1)
    last = await cli(*approving(expense), "--approver", "ben")
    ran = await started
    result = ran.json

    assert first["title"] in shown.stdout
    assert first["digest"] in shown.stdout
    assert approved.json["accepted"] == "approved"
    assert (approved.exit_code, other.exit_code, last.exit_code) == (0, 0, 0)
    assert (ran.exit_code, result["status"]) == (0, "succeeded")
    assert {r["confirmed_by"] for r in result["receipts"]} >= {"ann", "ben"}
    assert len(await sandbox.live(mission_id)) == len(result["receipts"]) == 3
    assert "confirm show" in ran.stderr


async def test_a_mission_is_listed_shown_and_watched(cli: Cli, client: MissionClient) -> None:
    """The three views of a finished mission agree with its result document."""
    mission = await client.start(MissionRequest(goal="What is the weather in Oslo tomorrow?"))
    result = await run_to_end(mission)
    listed, shown, watched, page = await asyncio.gather(
        cli("mission", "list", "--limit", "100", "--json"),
        cli("mission", "show", mission.mission_id, "--json"),
        cli("mission", "watch", mission.mission_id, "--json"),
        cli("mission", "show", mission.mission_id),
    )

    statuses = {one["mission_id"]: one["status"] for one in listed.json}
    assert statuses[mission.mission_id] == "succeeded"
    assert shown.json == result.document()
    assert {one["kind"] for one in watched.lines} >= {
        "plan",
        "selection",
        "call",
        "step",
        "mission",
    }
    assert (watched.lines[-1]["status"], watched.lines[-1]["over"]) == ("succeeded", True)
    assert "weather_get_forecast" not in page.stdout  # the page is for people
    assert "Oslo" in page.stdout
    assert (listed.exit_code, shown.exit_code, watched.exit_code, page.exit_code) == (0,) * 4


async def test_what_is_over_is_neither_cancelled_nor_decided_again(
    cli: Cli, client: MissionClient
) -> None:
    """The refusals say that it is over, not that it never was."""
    mission = await client.start(MissionRequest(goal=DINNER))
    card = await open_card(mission)
    await run_to_end(mission)
    cancelled, approved = await asyncio.gather(
        cli("mission", "cancel", mission.mission_id),
        cli("confirm", "approve", card.confirmation_id, "--digest", card.digest),
    )

    assert cancelled.exit_code == 2
    assert "is over" in cancelled.stderr
    assert approved.exit_code == 2
    assert card.confirmation_id in approved.stderr


async def test_what_a_mission_started_twice_under_one_id_does_once(
    cli: Cli, sandbox: Witness
) -> None:
    """A script that repeats `start --id` gets the mission that already runs, or ran."""
    goal = ("mission", "start", "What is the weather in Oslo tomorrow?", "--id", "weather-once")
    ran = [await cli(*goal, "--wait", "--json") for _ in range(2)]

    assert [r.exit_code for r in ran] == [0, 0]
    assert ran[0].json == ran[1].json
    assert len(await sandbox.requests("weather-once")) == 1


async def test_a_budget_that_is_too_small_books_nothing(cli: Cli, sandbox: Witness) -> None:
    """The mission fails before any card, and says which price did not fit."""
    start = ("mission", "start", TRIP, "--id", "poor-trip", "--budget", "10", "EUR")
    ran = await cli(*start, "--wait", "--json")
    result = ran.json

    assert ran.exit_code == 1
    assert result["status"] == "failed"
    assert "10.00 EUR" in result["error"]
    assert "budget" in result["error"]
    assert await sandbox.ledger("poor-trip") == []


async def test_a_rejection_ends_the_mission_with_its_reason(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """What the other leg had booked is taken back, and the person's words are the first error."""
    mission = await client.start(MissionRequest(goal=TRIP))
    hotel = await open_card(mission, "hotel_book_room")

    async def flight_is_booked() -> bool:
        await open_card(mission, "hotel_book_room")
        return bool(await sandbox.live(mission.mission_id))

    await eventually(flight_is_booked)
    no = ("confirm", "reject", hotel.confirmation_id, "--reason", "too far from the office")
    rejected = await cli(*no, "--then", "rollback", "--approver", "ann", "--json")
    watched = await cli("mission", "watch", mission.mission_id, "--json")

    assert (rejected.exit_code, rejected.json["accepted"]) == (0, "rejected")
    assert watched.exit_code == 1
    assert watched.lines[-1]["status"] == "rolled_back"
    assert "too far from the office" in watched.lines[-1]["error"]
    assert await sandbox.live(mission.mission_id) == []
    obligations = [one for one in watched.lines if one["kind"] == "obligation"]
    assert [o["state"] for o in obligations] == ["intended", "committed", "cancelled"]


async def test_an_amended_card_is_approved_anew_and_sent_as_amended(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """The digest that was read before the amendment approves nothing any more."""
    mission = await client.start(MissionRequest(goal=DINNER_AND_NEWS))
    card = await open_card(mission, "message_send")
    cid = card.confirmation_id
    wrong = await cli("confirm", "amend", cid, "text=7", "colour=red")
    amended = await cli("confirm", "amend", cid, "text=Dinner is on!", "--json")
    stale = await cli("confirm", "approve", cid, "--digest", card.digest)
    approved = await cli(*approving(amended.json["card"]))
    result = await run_to_end(mission)
    message = await sandbox.made(mission.mission_id, "message_send")

    assert wrong.exit_code == 2
    assert "colour" in wrong.stderr
    assert amended.json["accepted"] == "amended"
    assert amended.json["card"]["digest"] != card.digest
    assert stale.exit_code == 2
    assert "another digest" in stale.stderr
    assert approved.exit_code == 0
    assert result.status is MissionStatus.SUCCEEDED
    assert message["text"] == "Dinner is on!"
    assert [d.kind for leg in result.legs for d in leg.decisions] == [
        "approved",
        "amended",
        "approved",
    ]


async def test_a_mission_cancelled_while_a_card_is_open_leaves_nothing(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """The open card closes, what was booked is cancelled, and the mission ends as cancelled."""
    mission = await client.start(MissionRequest(goal=DINNER))
    card = await open_card(mission, "message_send")
    cancelled = await cli("mission", "cancel", mission.mission_id)
    watched = await cli("mission", "watch", mission.mission_id, "--json")
    late = await cli("confirm", "approve", card.confirmation_id, "--digest", card.digest)

    assert cancelled.exit_code == 0
    assert (watched.exit_code, watched.lines[-1]["status"]) == (1, "cancelled")
    assert await sandbox.live(mission.mission_id) == []
    assert late.exit_code == 2
    (made,) = [e for e in await sandbox.ledger(mission.mission_id) if e["kind"] == "create"]
    assert (made["operation"], made["status"]) == ("dining_reserve_table", "cancelled")


async def test_a_finished_mission_is_rolled_back_once(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """`mission rollback` cancels everything at the providers; the second time changes nothing.

    It succeeded, so that a script has to say that it is meant; the ledger keeps who and why.
    """
    mission = await client.start(MissionRequest(goal=TRIP))
    await run_to_end(mission)
    rollback = ("mission", "rollback", mission.mission_id, "--reason", "wrong week", "--json")
    unasked = [await cli(*rollback), await cli(*rollback[:-1])]
    untouched = await client.get(mission.mission_id).snapshot()
    first = await cli(*rollback, "--yes", "--approver", "ann@example.com")
    effects = await sandbox.ledger(mission.mission_id)
    requests = await sandbox.requests(mission.mission_id)
    second = await cli(*rollback)

    states = [o["state"] for o in first.json["ledger"]["obligations"]]
    assert [ran.exit_code for ran in unasked] == [2, 2]
    assert all("--yes" in ran.stderr and not ran.stdout for ran in unasked)
    assert len(untouched.ledger.live()) == 3
    orders = [o["rollback"] for o in first.json["ledger"]["obligations"]]
    assert {(o["reason"], o["approver"]) for o in orders} == {("wrong week", "ann@example.com")}
    assert (first.exit_code, states) == (0, ["cancelled"] * 3)
    assert await sandbox.live(mission.mission_id) == []
    assert (second.exit_code, second.json) == (0, first.json)
    assert await sandbox.ledger(mission.mission_id) == effects
    assert await sandbox.requests(mission.mission_id) == requests


async def test_a_running_mission_is_not_rolled_back_behind_its_back(
    cli: Cli, client: MissionClient
) -> None:
    """The refusal names the command that does what was wanted."""
    mission = await client.start(MissionRequest(goal=DINNER))
    await open_card(mission)
    ran = await cli("mission", "rollback", mission.mission_id)
    await mission.cancel()
    await run_to_end(mission)

    assert ran.exit_code == 2
    assert f"orchestrator mission cancel {mission.mission_id}" in ran.stderr


async def test_what_a_provider_will_not_cancel_is_parked_until_an_operator_resolves_it(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """`rollback list` and `show` find it; `resolve retry` cancels it once the provider relents."""
    mission = await client.start(MissionRequest(goal=DINNER))
    await run_to_end(mission)
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_cancel_reservation", kind="refuse_cancel")]
    )
    rolled_back = await cli("mission", "rollback", mission.mission_id, "--yes", "--json")
    listed, shown = await asyncio.gather(
        cli("rollback", "list", "--json"), cli("rollback", "show", mission.mission_id)
    )
    (parked,) = [o for o in rolled_back.json["ledger"]["obligations"] if o["state"] == "parked"]
    standing = await sandbox.live(mission.mission_id)
    await client.resolve(parked["obligation_id"], "retry", operator="ops", note="in vain")
    await until_settled(client, mission.mission_id, "parked")
    await sandbox.clear_faults()
    retried = await cli("rollback", "resolve", parked["obligation_id"], "retry")
    await until_settled(client, mission.mission_id, "cancelled")

    assert rolled_back.exit_code == 1
    assert parked["tool"] == "dining_reserve_table"
    assert mission.mission_id in [report["mission_id"] for report in listed.json]
    assert f"rollback resolve {parked['obligation_id']}" in " ".join(shown.stdout.split())
    assert [e["operation"] for e in standing] == ["dining_reserve_table"]
    assert retried.exit_code == 0
    assert await sandbox.live(mission.mission_id) == []
    assert mission.mission_id not in [report.mission_id for report in await client.parked()]


async def until_settled(client: MissionClient, mission_id: str, state: str) -> None:
    """Wait until the reservation of a rollback stands as named and nothing is being tried."""

    async def settled() -> bool:
        report = await client.rollback_report(mission_id)
        return report.ledger.obligations[0].state.value == state

    await eventually(settled)
