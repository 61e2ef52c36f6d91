"""Whose a call is: what a message says of itself is compared with what server and mission say."""

import dataclasses
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.common.v1 import Payloads
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionStartedEventAttributes
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from activities import call_origins
from activities.call_origins import MissionOrigins, check_taken_back
from orchestrator.core.errors import CallUnowned, LegUnowned, MissionSilent, OrchestratorError
from orchestrator.core.wall import Wall
from orchestrator.messages import names
from orchestrator.messages.leg import LegInput, LegState
from orchestrator.messages.leg_terms import LegTerms
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_leg, fake_obligation, fake_tool

READS = fake_tool("find")
BOOKS = fake_tool("book", cancel_tool="cancel")
CALL = ToolCall(
    call_id="trip.1-car.2",
    mission_id="trip",
    leg_id="1-car",
    tool="book",
    catalog_digest="d",
    arguments={},
)
WANTED = PrepareInput(**CALL.ref, arguments={}, now=datetime(2026, 11, 22, tzinfo=UTC))
WIDE = MissionPolicy(call_attempts=9)
GIVEN = LegInput(
    mission_id="trip",
    mission_goal="a trip",
    leg=fake_leg("1-car"),
    catalog=CatalogPin(digest="d", size=1),
    started_at=datetime(2026, 11, 22, tzinfo=UTC),
)
READ_ONLY = GIVEN.model_copy(update={"read_only": True})
NOT_FOUND = RPCError("no such workflow", RPCStatusCode.NOT_FOUND, b"")


class Server:
    """A leg and its mission, as the server tells of them, and what the mission answers."""

    def __init__(
        self,
        *answers: Any,
        given: LegInput = GIVEN,
        leg: Any = (),
        mission: Any = (),
    ) -> None:
        self.asked = 0
        self._answers = list(answers) or [[LegTerms.of(GIVEN)]]
        self._given = given
        told = {"id": "trip.1-car", "run_id": "l", "parent_id": "trip", "parent_run_id": "m"}
        self._told = {
            "trip.1-car": {**told, "workflow_type": names.LEG_WORKFLOW, **dict(leg)},
            "trip": {"workflow_type": names.MISSION_WORKFLOW, **dict(mission)},
        }

    @property
    def client(self) -> Client:
        return cast(Client, self)

    data_converter = pydantic_data_converter

    def get_workflow_handle(self, workflow_id: str, *, run_id: str | None = None) -> Any:
        """A handle of one of the two, of the run that is asked for by its id."""
        return SimpleNamespace(
            describe=lambda: self._describe(workflow_id, run_id),
            query=self._query,
            fetch_history_events=self._events,
        )

    async def _describe(self, workflow_id: str, run_id: str | None) -> SimpleNamespace:
        if "gone" in self._told[workflow_id]:
            raise NOT_FOUND
        assert run_id == {"trip": "m", "trip.1-car": "l"}[workflow_id]
        return SimpleNamespace(**self._told[workflow_id])

    async def _query(self, name: str, *asked: Any, **options: Any) -> Any:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _events(self, **options: Any) -> AsyncIterator[HistoryEvent]:
        (payload,) = await pydantic_data_converter.encode([self._given])
        started = WorkflowExecutionStartedEventAttributes(
            input=Payloads(payloads=[payload]), first_execution_run_id="l"
        )
        yield HistoryEvent(workflow_execution_started_event_attributes=started)


async def check(origins: MissionOrigins, call: PrepareInput | ToolCall = CALL, **more: Any) -> None:
    """Check a call in an activity of its leg, unless the test says of whom."""
    info = {"workflow_type": names.LEG_WORKFLOW, "workflow_id": "trip.1-car"}
    said = {**info, **{k: more.pop(k) for k in info if k in more}}
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, workflow_run_id="l", **said)
    tool = more.pop("tool", BOOKS)
    await environment.run(origins.check, call, tool, **more)


async def test_a_call_of_its_missions_leg_is_let_through_and_asked_about_once() -> None:
    """A leg's run and its terms never change, so that its later calls cost nothing."""
    server = Server()
    origins = MissionOrigins(server.client)

    await check(origins, WANTED)
    await check(origins, CALL.model_copy(update={"agent": GIVEN.leg.agent.wall}))
    await check(origins, CALL.model_copy(update={"call_id": "trip.1-car.3"}))

    assert server.asked == 1


async def test_a_call_that_only_reads_asks_nobody() -> None:
    """It is looked at where it comes from, and that is all."""
    server = Server(NOT_FOUND)

    await check(
        MissionOrigins(server.client), WANTED.model_copy(update={"policy": WIDE}), tool=READS
    )

    assert server.asked == 0


@pytest.mark.parametrize("tool", [READS, BOOKS], ids=["reads", "books"])
@pytest.mark.parametrize(
    ("sender", "call"),
    [
        ({"workflow_type": "Stranger"}, {}),
        ({"workflow_id": "other.1-car"}, {}),
        ({}, {"mission_id": "other"}),
        ({}, {"leg_id": "2-hotel"}),
        ({}, {"call_id": "trip.2-hotel.2"}),
        ({}, {"call_id": "other.1-car.2"}),
    ],
)
async def test_what_another_workflow_sends_is_refused(
    sender: dict[str, str], call: dict[str, str], tool: Any
) -> None:
    """Another workflow, another mission's or leg's call, another's key: all made up."""
    server = Server()
    with pytest.raises(CallUnowned):
        await check(
            MissionOrigins(server.client), CALL.model_copy(update=call), tool=tool, **sender
        )

    assert server.asked == 0


WRONG: dict[str, tuple[Server, dict[str, Any], str]] = {
    "no parent": (Server(leg={"parent_id": None}), {}, "no mission 'trip' started it"),
    "another parent": (Server(leg={"parent_id": "other"}), {}, "no mission 'trip' started it"),
    "no leg": (Server(leg={"workflow_type": "Stranger"}), {}, "no mission 'trip' started it"),
    "no mission": (Server(mission={"workflow_type": "Stranger"}), {}, "a Stranger"),
    "deleted": (Server(mission={"gone": True}), {}, "no longer keeps its mission"),
    "never started": (Server([]), {}, "started no such leg"),
    "a policy of its own": (
        Server(given=GIVEN.model_copy(update={"policy": WIDE})),
        {},
        "not its mission's: policy",
    ),
    "another catalog": (
        Server(given=GIVEN.model_copy(update={"catalog": CatalogPin(digest="e", size=1)})),
        {},
        "not its mission's: catalog",
    ),
    "another agent": (
        Server(given=GIVEN.model_copy(update={"leg": fake_leg("1-car", after=("x",))})),
        {},
        "not its mission's: leg",
    ),
    "a past": (
        Server(given=GIVEN.model_copy(update={"state": LegState(step=3)})),
        {},
        "a past that it did not have",
    ),
    "a call under another policy": (
        Server(),
        {"call": WANTED.model_copy(update={"policy": WIDE})},
        "policy is not its mission's",
    ),
    "a call under other orders": (
        Server(),
        {"call": WANTED.model_copy(update={"covered": (Order(tools=("book",)),)})},
        "orders are not its mission's",
    ),
    "an effect of a mission that may change nothing": (
        Server([LegTerms.of(READ_ONLY)], given=READ_ONLY),
        {},
        "may change nothing",
    ),
    "a call of another agent": (
        Server(),
        {"call": CALL.model_copy(update={"agent": Wall(agent="treasurer")})},
        "not the one that its mission gave it to",
    ),
}
"""What may be wrong with a leg or a call, and how it is told."""


@pytest.mark.parametrize("case", WRONG)
async def test_a_leg_that_is_not_its_missions_sends_nothing(case: str) -> None:
    """The refusal is final, and says what is not so."""
    server, more, reason = WRONG[case]
    with pytest.raises(LegUnowned, match=reason) as refused:
        await check(MissionOrigins(server.client), **more)

    assert not refused.value.retryable


async def test_a_call_of_another_catalog_is_refused() -> None:
    """Its contract may be anything."""
    with pytest.raises(LegUnowned, match="another catalog"):
        await check(
            MissionOrigins(Server().client), CALL.model_copy(update={"catalog_digest": "e"})
        )


@pytest.mark.parametrize(
    "answer",
    [RPCError("busy", RPCStatusCode.UNAVAILABLE, b""), WorkflowQueryFailedError("no worker")],
    ids=["server", "worker"],
)
async def test_a_mission_that_does_not_answer_is_asked_again_later(
    answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is assumed meanwhile, and nothing of it is remembered."""
    monkeypatch.setattr(call_origins, "_ANSWER", call_origins._ANSWER / 80)
    server = Server(answer)
    origins = MissionOrigins(server.client)

    with pytest.raises(MissionSilent) as silent:
        await check(origins)
    server._answers = [[LegTerms.of(GIVEN)]]
    await check(origins)

    assert silent.value.retryable


async def test_what_a_worker_sends_back_is_asked_again_at_once() -> None:
    """Its run is being replayed."""
    server = Server(WorkflowQueryFailedError(names.RUN_REPLAYED), [LegTerms.of(GIVEN)])

    await check(MissionOrigins(server.client))

    assert server.asked == 2


@pytest.mark.parametrize(
    "sender",
    [
        {"workflow_type": "Stranger", "workflow_id": "trip.rollback"},
        {"workflow_type": names.ROLLBACK_WORKFLOW, "workflow_id": "other.rollback"},
    ],
)
async def test_only_a_missions_rollback_takes_back_what_it_did(sender: Any) -> None:
    """An obligation that somebody made up names a booking of somebody else."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, **sender)
    with pytest.raises(OrchestratorError, match=r"not trip\.rollback"):
        environment.run(check_taken_back, fake_obligation("trip.1-car.2"))
