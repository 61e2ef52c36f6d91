"""Missions of written workflows, over a real server, worker and provider."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.arazzo.arazzo_files import load_contents
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.planning.models import WorkflowSource
from orchestrator.runtime.demo import LEAVING, RETURNING, TRIP
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, assert_nothing_left, eventually, run_to_end
from tests.integration.conftest import Cli, Witness

WRITTEN = Path(__file__).parents[2] / "docs" / "examples" / "written"
TRIP_FILE = WRITTEN / "trip.arazzo.yaml"
DAY = (date.today() + timedelta(days=9)).isoformat()
DINING: JsonObject = {"name": "dining", "url": "https://example.com/dining.yaml", "type": "openapi"}
MESSAGES: JsonObject = {
    "name": "messages",
    "url": "https://example.com/messages.yaml",
    "type": "openapi",
}
FIND: JsonObject = {
    "stepId": "find",
    "operationId": "dining_search_tables",
    "parameters": [
        {"name": "city", "in": "query", "value": "$inputs.city"},
        {"name": "date", "in": "query", "value": "$inputs.date"},
    ],
    "outputs": {"slot": "$response.body#/tables/0/table_slot_id"},
}
RESERVE: JsonObject = {
    "stepId": "reserve",
    "description": "Reserve the first table",
    "operationId": "dining_reserve_table",
    "requestBody": {"payload": {"table_slot_id": "$steps.find.outputs.slot"}},
    "outputs": {"reservation": "$response.body#/reservation_id"},
}
CHANNEL: JsonObject = {
    "stepId": "channel",
    "operationId": "message_find_channels",
    "outputs": {"id": "$response.body#/channels/0/channel_id"},
}
SEND: JsonObject = {
    "stepId": "say",
    "operationId": "message_send",
    "requestBody": {
        "payload": {
            "channel_id": "$steps.channel.outputs.id",
            "text": "Reserved: {$steps.reserve.outputs.reservation}",
        }
    },
}
INPUTS: JsonObject = {
    "type": "object",
    "required": ["city", "date"],
    "properties": {"city": {"type": "string"}, "date": {"type": "string", "format": "date"}},
}


def workflow(*steps: JsonObject, name: str = "dine", **more: Any) -> JsonObject:
    """A workflow of these steps."""
    return {"workflowId": name, "summary": "Dine out", "inputs": INPUTS, "steps": [*steps], **more}


def document(*workflows: JsonObject) -> JsonObject:
    """An Arazzo document over the bundled specs."""
    return {
        "arazzo": "1.0.1",
        "info": {"title": "Dinner", "version": "1.0.0"},
        "sourceDescriptions": [DINING, MESSAGES],
        "workflows": [*workflows],
    }


def request(doc: JsonObject, workflow_id: str = "", **more: Any) -> MissionRequest:
    """A request to run a document's workflow."""
    given = {"goal": "Dine out", "inputs": {"city": "Lisbon", "date": DAY}, **more}
    source = WorkflowSource(document=doc, workflow_id=workflow_id)
    return MissionRequest.model_validate({**given, "workflow": source})


def steps_of(result: MissionResult) -> list[tuple[str, str]]:
    """The steps of all legs, by their ids in the workflow."""
    return [(one.step_id, one.outcome) for leg in result.legs for one in leg.steps if one.step_id]


async def test_a_workflow_runs_as_it_is_written(client: MissionClient, sandbox: Witness) -> None:
    """Its consequences have cards, its outputs stand in the result, no planner is asked."""
    doc = document(
        workflow(
            FIND, RESERVE, CHANNEL, SEND, outputs={"table": "$steps.reserve.outputs.reservation"}
        )
    )
    asked: list[str] = []

    async def note(mission: MissionHandle, card: ConfirmationCard) -> None:
        asked.append(card.tool)
        assert not card.unordered
        await approve(mission, card)

    mission = await client.start(request(doc))
    result = await run_to_end(mission, note)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert steps_of(result) == [
        (name, "succeeded") for name in ("find", "reserve", "channel", "say")
    ]
    assert list(dict.fromkeys(asked)) == ["dining_reserve_table", "message_send"]
    made = await sandbox.made(mission.mission_id, "dining_reserve_table")
    sent = await sandbox.made(mission.mission_id, "message_send")
    table = result.legs[0].outputs["table"]
    assert sent["text"] == f"Reserved: {table}"
    assert str(table) in json.dumps(made)
    assert result.usage.requests == 0


async def test_a_failure_for_good_rolls_back(client: MissionClient, sandbox: Witness) -> None:
    """What was made before is cancelled by the declared cancel tool."""
    mission_id = f"written-{DAY}-lost"
    refused = FaultRule(operation_id="message_send", kind="status_before", status=422)
    await sandbox.set_faults([refused])
    mission = await client.start(
        request(document(workflow(FIND, RESERVE, CHANNEL, SEND)), mission_id=mission_id)
    )
    result = await run_to_end(mission)

    assert result.status is MissionStatus.ROLLED_BACK
    assert "step say" in str(result.error)
    await assert_nothing_left(sandbox, mission)


async def test_a_held_workflow_is_repaired_and_goes_on(
    client: MissionClient, sandbox: Witness
) -> None:
    """The failed step is made again, and the steps after it follow; nothing is made twice."""
    refused = FaultRule(
        operation_id="message_find_channels", kind="status_before", status=404, times=1
    )
    await sandbox.set_faults([refused])
    doc = document(workflow(FIND, RESERVE, CHANNEL, SEND))
    mission = await client.start(request(doc, on_failure="ask"))

    async def held() -> str:
        for card in await mission.confirmations():
            await approve(mission, card)
        return next((q.question_id for q in await mission.questions() if q.hold), "")

    held_id = await eventually(held)
    await mission.answer(held_id, {"decision": "repair"}, answered_by="ana@example.com")
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert steps_of(result) == [
        ("find", "succeeded"),
        ("reserve", "succeeded"),
        ("channel", "rejected"),
        ("channel", "succeeded"),
        ("say", "succeeded"),
    ]


async def test_a_retry_waits_by_a_durable_timer(
    client: MissionClient, sandbox: Witness, stack: Stack
) -> None:
    """The worker may die meanwhile; a read is made again, an effect never."""
    again: JsonObject = {"name": "again", "type": "retry", "retryAfter": 3, "retryLimit": 3}
    find: JsonObject = {
        **FIND,
        "successCriteria": [{"condition": "$statusCode == 200"}],
        "onFailure": [again],
    }
    absent = FaultRule(
        operation_id="dining_search_tables", kind="status_before", status=404, times=2
    )
    await sandbox.set_faults([absent])
    mission = await client.start(request(document(workflow(find, RESERVE))))

    async def waits() -> bool:
        return any(
            s.did.startswith("wait before")
            for leg in (await mission.snapshot()).legs
            for s in leg.steps
        )

    await eventually(waits)
    await stack.kill("worker")
    await stack.start_worker()
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    outcomes = [o for step, o in steps_of(result) if step == "find" and not o.startswith("until")]
    assert outcomes == ["rejected", "rejected", "succeeded"]
    assert len(await sandbox.live(mission.mission_id)) == 1


async def test_workflows_that_depend_on_none_run_side_by_side(
    client: MissionClient, sandbox: Witness
) -> None:
    """Each is a leg; the one that depends on both reads their outputs."""
    first = workflow(
        FIND, RESERVE, name="first", outputs={"id": "$steps.reserve.outputs.reservation"}
    )
    second = workflow(FIND, name="second", outputs={"slot": "$steps.find.outputs.slot"})
    tell: JsonObject = {
        "stepId": "say",
        "operationId": "message_send",
        "requestBody": {
            "payload": {
                "channel_id": "$steps.channel.outputs.id",
                "text": "{$workflows.first.outputs.id} and {$workflows.second.outputs.slot}",
            }
        },
    }
    both = workflow(CHANNEL, tell, name="both", dependsOn=["first", "second"])
    mission = await client.start(request(document(first, second, both), "both"))
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    by_name = {leg.leg_id: leg for leg in result.legs}
    assert list(by_name) == ["1-first", "2-second", "3-both"]
    sent = await sandbox.made(mission.mission_id, "message_send")
    assert sent["text"] == (
        f"{by_name['1-first'].outputs['id']} and {by_name['2-second'].outputs['slot']}"
    )


async def test_a_retry_never_repeats_an_effect_that_stands(
    client: MissionClient, sandbox: Witness
) -> None:
    """A criterion that an effect's answer does not meet fails the workflow, which rolls back."""
    again: JsonObject = {"name": "again", "type": "retry", "retryAfter": 0, "retryLimit": 5}
    strict: JsonObject = {
        **RESERVE,
        "successCriteria": [{"condition": "$response.body#/status == 'never'"}],
        "onFailure": [again],
    }
    mission = await client.start(request(document(workflow(FIND, strict))))
    result = await run_to_end(mission)

    assert result.status is MissionStatus.ROLLED_BACK
    effects = await sandbox.ledger(mission.mission_id)
    assert [e["operation"] for e in effects].count("dining_reserve_table") == 1
    await assert_nothing_left(sandbox, mission)


async def test_a_retry_repeats_what_was_refused(client: MissionClient, sandbox: Witness) -> None:
    """After a clear refusal nothing stands: the same call is approved again, and sent."""
    again: JsonObject = {"name": "again", "type": "retry", "retryAfter": 0, "retryLimit": 2}
    refused = FaultRule(
        operation_id="dining_reserve_table", kind="status_before", status=422, times=1
    )
    await sandbox.set_faults([refused])
    mission = await client.start(
        request(document(workflow(FIND, {**RESERVE, "onFailure": [again]})))
    )
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert [outcome for step, outcome in steps_of(result) if step == "reserve"] == [
        "rejected",
        "succeeded",
    ]


async def test_another_step_of_the_same_tool_takes_the_place_of_a_refused_one(
    client: MissionClient, sandbox: Witness
) -> None:
    """The example: the best table is gone, the second is reserved, and nothing is missing."""
    gone = FaultRule(operation_id="dining_reserve_table", kind="status_before", status=409, times=1)
    await sandbox.set_faults([gone])
    content, _ = load_contents(WRITTEN / "dinner.arazzo.yaml")
    mission = await client.start(request(content))
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, (result.error, result.summary)
    assert steps_of(result)[-2:] == [("reserve", "rejected"), ("reserveSecond", "succeeded")]


async def test_a_loop_may_end_before_its_last_effect(
    client: MissionClient, sandbox: Witness
) -> None:
    """`x-orchet-repeats` is the most that may be made."""
    loop: JsonObject = {
        **SEND,
        "requestBody": {"payload": {"channel_id": "$steps.channel.outputs.id", "text": "Hello"}},
        "x-orchet-repeats": 3,
    }
    back: JsonObject = {
        "name": "back",
        "type": "goto",
        "stepId": "say",
        "criteria": [{"condition": "$response.body#/customers"}],
    }
    mission = await client.start(
        request(document(workflow(CHANNEL, {**loop, "onSuccess": [back]})))
    )
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    made = [e["operation"] for e in await sandbox.ledger(mission.mission_id)]
    assert made.count("message_send") == 1


async def test_the_written_trip_makes_what_the_trip_in_words_makes(client: MissionClient) -> None:
    """Flight and room side by side, then the expense of both: the same tools at the same prices."""
    content, linked = load_contents(TRIP_FILE)
    source = WorkflowSource(document=content, workflow_id="trip", linked=linked)
    inputs: JsonObject = {"origin": "Berlin", "destination": "Lisbon"}
    inputs |= {"leaving": LEAVING, "returning": RETURNING}
    written = MissionRequest(goal="The trip", workflow=source, inputs=inputs)

    ledgers = []
    for wanted in (MissionRequest(goal=TRIP), written):
        result = await run_to_end(await client.start(wanted))
        assert result.status is MissionStatus.SUCCEEDED, result.error
        ledgers.append(sorted((o.tool, o.state, str(o.price)) for o in result.ledger.obligations))

    assert ledgers[0] == ledgers[1]


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        (document(workflow({**FIND, "operationId": "no_such"})), "no_such"),
        (document(workflow(FIND)), "city is missing"),
    ],
    ids=["unknown operation", "missing input"],
)
async def test_what_cannot_run_is_refused_before_anything(
    client: MissionClient, sandbox: Witness, doc: JsonObject, said: str
) -> None:
    """One sentence says where and why."""
    inputs: JsonObject = {} if "missing" in said else {"city": "Lisbon", "date": DAY}
    mission = await client.start(request(doc, inputs=inputs))
    result = await run_to_end(mission)

    assert result.status is MissionStatus.FAILED
    assert said in str(result.error)
    assert not result.legs


async def test_the_command_runs_a_file(cli: Cli, client: MissionClient, tmp_path: Path) -> None:
    """`mission start --workflow FILE#ID --input K=V`; `mission plan` shows its legs."""
    file = tmp_path / "dinner.arazzo.json"
    file.write_text(json.dumps(document(workflow(FIND))))
    options = ("--workflow", f"{file}#dine", "--input", "city=Lisbon", "--input", f"date={DAY}")

    planned = await cli("mission", "plan", *options)
    assert planned.exit_code == 0, planned.stderr
    assert "Dine out" in planned.stdout
    ran = await cli("mission", "start", *options, "--wait", "--json")
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout)["legs"][0]["steps"][0]["step_id"] == "find"


async def test_a_planner_reaches_the_goal_of_a_step(
    client: MissionClient, sandbox: Witness
) -> None:
    """A leg of its own chooses; its outputs fit the schema, and the next step takes them."""
    content, _ = load_contents(WRITTEN / "room.arazzo.yaml")
    inputs: JsonObject = {"city": "Lisbon", "check_in": LEAVING, "check_out": RETURNING}
    wanted = MissionRequest(goal="A room", workflow=WorkflowSource(document=content), inputs=inputs)
    mission = await client.start(wanted)
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    written, chosen = result.legs
    assert written.planned_by == "workflow"
    assert (chosen.leg_id, chosen.planned_by) == ("h1-1-room", "")
    made = await sandbox.made(mission.mission_id, "hotel_book_room")
    assert made["room_offer_id"] == chosen.outputs["room_offer_id"]
