"""What a mission tells of itself: one trace from the command to the provider, figures, lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.adapters.telemetry.conventions import MEASUREMENTS, SPANS
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import TRIP
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import FaultRule
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.forked import ForkedStack
from tests.otlp_receiver import OtlpReceiver, SeenSpan

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness


async def test_a_mission_is_one_trace_from_the_command_to_the_provider_and_back(
    stack: Stack, client: MissionClient, sandbox: Witness, cli: Cli, collector: OtlpReceiver
) -> None:
    """A trip that is lost at its last call, with the rollback that follows."""
    await sandbox.set_faults(
        [FaultRule(operation_id="expense_file_report", kind="status_before", status=409)]
    )
    logged = len(stack.log("worker").read_text())
    started = await cli("mission", "start", TRIP, "--json", **collector.variables)
    mission = client.get(json.loads(started.stdout)["mission_id"])
    result = await run_to_end(mission, approve)
    assert result.status is MissionStatus.ROLLED_BACK

    async def told() -> list[SeenSpan]:
        ended = [span for span in collector.spans if span.name == "mission"]
        of_it = [s for s in ended if s.attributes["orchestrator.mission.id"] == mission.mission_id]
        return [span for one in of_it for span in collector.trace(one.trace_id)]

    spans = await eventually(told)
    ways = {" > ".join(reversed(collector.above(span))) for span in spans}
    mission_way = "start mission > mission"

    assert {span.service for span in spans} == {"orchestrator-cli", "orchestrator-worker"}
    assert f"{mission_way} > split_goal" in ways
    assert f"{mission_way} > execute_tool flight_book_offer > POST /book" in ways
    (booked,) = [s for s in spans if s.name == "execute_tool flight_book_offer"]
    assert booked.attributes["orchestrator.leg.id"] == "1-flights"
    assert booked.attributes["gen_ai.agent.name"] == "flights"
    cancel = f"{mission_way} > rollback > cancel_obligation > "
    assert any(way.startswith(cancel) and way != cancel for way in ways)
    # The rollback and the mission are told once, however often they were replayed.
    workflows = [s.name for s in spans if s.name in ("mission", "rollback")]
    assert sorted(workflows) == ["mission", "rollback"]
    (refused,) = [s for s in spans if s.attributes.get("http.response.status_code") == 409]
    assert (refused.is_error, refused.attributes["error.type"]) == (True, "409")

    await eventually(lambda: _measured(collector))
    _check_names(spans, collector)
    lines = stack.log("worker").read_text()[logged:].splitlines()
    of_it = [line for line in lines if mission.mission_id in line]
    assert any("1-flights: step 2: call flight_book_offer: succeeded" in line for line in of_it)
    assert any(".rollback: the rollback has tried everything after" in line for line in of_it)
    assert not any("Traceback" in line for line in lines)


@pytest.mark.long
async def test_killed_workers_leave_one_trace_with_each_span_and_line_once(
    tmp_path: Path,
) -> None:
    """What another worker replays and ends is told by the ids that the first one gave it."""
    with OtlpReceiver() as collector:
        variables = {"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000", **collector.variables}
        stack = ForkedStack(tmp_path, (bundled_specs(),), Ports.free(), variables=variables)
        async with stack:
            mission = await (await stack.client()).start(MissionRequest(goal=TRIP))
            await eventually(mission.confirmations)
            killed: list[str] = []

            async def approve_then_kill(mission: MissionHandle, card: ConfirmationCard) -> None:
                await approve(mission, card)
                if len(killed) < 2:
                    killed.append(card.confirmation_id)
                    await stack.kill("worker")
                    await stack.start_worker()

            result = await run_to_end(mission, approve_then_kill, timeout_s=120)
        lines = stack.log("worker").read_text().splitlines()

    workflows = [span for span in collector.spans if span.name == "mission"]
    assert result.status is MissionStatus.SUCCEEDED
    assert len(killed) == 2
    assert len({span.span_id for span in collector.spans}) == len(collector.spans)
    assert len({span.trace_id for span in workflows}) == 1
    assert len(workflows) == 1
    ends = [line for line in lines if " ended succeeded after " in line]
    assert len(ends) == 4


def _check_names(spans: list[SeenSpan], collector: OtlpReceiver) -> None:
    """The table names what the mission's trace carries, and the labels of its own measurements.

    The collector is that of a whole session: what other tests send to it is not looked at.
    """
    named = {name for span in SPANS for name in span.attributes}
    assert {name for span in spans for name in span.attributes} <= named

    labels = {one.name: set(one.attributes) for one in MEASUREMENTS}
    sdk = {"namespace", "task_queue", "workflow_type"}
    for name, points in collector.points.items():
        if name in labels or name.startswith("orchestrator"):
            assert set().union(*points) - {"figure"} <= labels[name] | sdk, name


async def _measured(collector: OtlpReceiver) -> bool:
    return collector.points.keys() >= {
        *("http.client.request.duration", "orchestrator.tool.calls", "orchestrator.waiting"),
        *("orchestrator.route.tools.forwarded", "orchestrator_confirmation_wait"),
        *("orchestrator_mission_duration", "orchestrator_rollback_duration"),
        "temporal_workflow_task_execution_latency",
    }
