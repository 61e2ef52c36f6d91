"""The tools of the catalog for MCP clients: guarded calls with cards, keys and later rollbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest
from mcp import types
from mcp.client import ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError

from orchestrator.mcp.exchange import TASKS
from orchestrator.runtime.demo import DINING
from orchestrator.testing import eventually
from tests.integration.mcp.conftest import ERAS, INBOX, structured, until
from tests.integration.mcp.test_missions_for_clients import FLIGHT, approve_in_inbox
from tests.integration.web.conftest import ANN, BO, LOOKS


class CreatedTask(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str


class TaskState(types.Result):
    task_id: str
    status: str
    input_requests: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class TaskRequest(types.Request[dict[str, Any], str]):
    name_param: ClassVar[str | None] = "taskId"


class MissionTasks(ClientExtension):
    """A client that takes tasks: it polls them, and its person approves what they ask for."""

    identifier = TASKS

    def __init__(self, api: Any) -> None:
        self.statuses: list[str] = []
        self._api = api

    def claims(self) -> Any:
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self.resolve)]

    async def resolve(self, task: CreatedTask, context: Any) -> types.CallToolResult:
        async def polled() -> TaskState | None:
            wanted = TaskRequest(method="tasks/get", params={"taskId": task.task_id})
            now: TaskState = await context.session.send_request(wanted, TaskState)
            self.statuses.append(now.status)
            for key in now.input_requests or {}:
                await approve_in_inbox(self._api, key)
            return now if now.status in ("completed", "cancelled", "failed") else None

        over = await eventually(polled)
        assert isinstance(over, TaskState)
        return types.CallToolResult.model_validate(over.result)


if TYPE_CHECKING:
    from tests.integration.conftest import Witness
    from tests.integration.mcp.conftest import Connect
    from tests.integration.web.conftest import Api

SEARCH = {"city": "Lisbon", "date": DINING, "time": "20:00", "party_size": 2}


async def wanted_table(mcp: Any) -> dict[str, Any]:
    """The arguments for a table that was found."""
    found = structured(await mcp.call_tool("dining_search_tables", SEARCH))
    return {"table_slot_id": found["tables"][0]["table_slot_id"], "reason": "they asked for it"}


@pytest.mark.parametrize("era", ERAS)
async def test_a_guarded_call_waits_for_its_card_and_returns_the_providers_answer(
    era: str, connect: Connect, api: Api, sandbox: Witness
) -> None:
    """With the same key it is made once; at any later time it can be rolled back."""

    async def opens(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        if isinstance(asked, types.ElicitRequestURLParams):
            await approve_in_inbox(api(ANN), asked.url.rpartition("/")[2])
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content={"approve": True})

    async with connect(ANN, era, elicitation_callback=opens) as mcp:
        wanted = {**await wanted_table(mcp), "idempotency_key": f"table {era}"}
        booked = await mcp.call_tool("dining_reserve_table", wanted)
        again = await mcp.call_tool("dining_reserve_table", wanted)
        mission_id = str((booked.meta or {})["mission_id"])
        made = await sandbox.live(mission_id)
        page = await mcp.read_resource(f"mission://{mission_id}")
        rolled_back = structured(
            await mcp.call_tool("roll_back_mission", {"mission_id": mission_id})
        )

    assert structured(booked) == structured(again)
    assert [one["resource_id"] for one in made] == [structured(booked)["reservation_id"]]
    assert isinstance(page.contents[0], types.TextResourceContents)
    assert "they asked for it" in page.contents[0].text
    assert rolled_back["status"] == "rolled_back_after_success"
    assert await sandbox.live(mission_id) == []


async def test_a_client_without_elicitation_is_given_the_link(connect: Connect) -> None:
    async with connect(ANN) as mcp:
        result = await mcp.call_tool("dining_reserve_table", await wanted_table(mcp))
        content = structured(result)
        await mcp.call_tool("cancel_mission", {"mission_id": content["mission_id"]})

    (wait,) = content["waits"]
    assert wait["url"] == f"{INBOX}/cards/{wait['id']}"
    assert wait["url"] in result.content[0].text  # type: ignore[union-attr]


async def test_a_personal_value_never_comes_in_the_open(connect: Connect) -> None:
    async with connect(ANN) as mcp:
        wanted = {**await wanted_table(mcp), "traveler_name": "Zephyrine Oakhollow"}
        result = await mcp.call_tool("dining_reserve_table", wanted)
        listed = {one.name: one for one in (await mcp.list_tools()).tools}

    assert result.is_error
    assert "Oakhollow" not in str(result)
    assert "pii:traveler_name" in str(result.content)
    shown = listed["dining_reserve_table"].input_schema["properties"]["traveler_name"]
    assert shown["const"] == "pii:traveler_name"


async def test_annotations_and_metadata_say_what_a_call_does_and_how_it_is_cancelled(
    connect: Connect,
) -> None:
    async with connect(ANN) as mcp, connect(LOOKS) as viewer:
        listed = {one.name: one for one in (await mcp.list_tools()).tools}
        of_viewer = {one.name for one in (await viewer.list_tools()).tools}

    search, book = listed["flight_search_offers"], listed["flight_book_offer"]
    assert search.annotations is not None and book.annotations is not None
    assert search.annotations.read_only_hint is True
    assert (book.annotations.read_only_hint, book.annotations.destructive_hint) == (False, False)
    assert listed["flight_cancel_booking"].annotations.destructive_hint is True  # type: ignore[union-attr]
    assert book.meta is not None
    assert book.meta["recovery"] == {
        "strategy": "compensation",
        "compensatingOperation": {
            "operationId": "flight_cancel_booking",
            "parameters": {"booking_id": "$response.body#/booking_id"},
        },
    }
    assert book.meta["x-orchet-cancels"] == "flight_cancel_booking"
    assert of_viewer == {"get_mission", "list_waiting"}


async def test_a_mission_is_a_task_for_clients_that_take_tasks(
    connect: Connect, api: Api, sandbox: Witness
) -> None:
    """Also a guarded call. A task's id is the mission's; what a client answers decides nothing."""

    async def never(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        raise AssertionError("a task asks by its state")

    tasks = MissionTasks(api(ANN))
    options: Any = {"elicitation_callback": never, "extensions": [tasks]}
    async with connect(ANN, "2026-07-28", **options) as mcp:
        trip = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT}))
        of_trip = tasks.statuses[:]
        found = structured(await mcp.call_tool("dining_search_tables", SEARCH))

    assert (trip["status"], len(await sandbox.live(trip["mission_id"]))) == ("succeeded", 1)
    assert "input_required" in of_trip
    assert of_trip[-1] == "completed"
    assert found["tables"]


async def test_tasks_are_of_their_person_and_can_be_cancelled(connect: Connect) -> None:
    accepts = {"action": "accept", "content": {"approve": True}}
    async with connect(ANN, "2026-07-28", extensions=[MissionTasks(None)]) as mcp:
        begun = await mcp.session.call_tool("start_mission", {"goal": FLIGHT}, allow_claimed=True)
        assert isinstance(begun, CreatedTask)
        mission_id = begun.task_id
        (wait,) = (await until(mcp, mission_id, lambda one: one["waits"]))["waits"]
        answered = {"taskId": mission_id, "inputResponses": {wait["id"]: accepts}}
        await mcp.session.send_request(
            TaskRequest(method="tasks/update", params=answered), types.EmptyResult
        )
        still = (await until(mcp, mission_id, lambda one: one["waits"]))["waits"]
        async with connect(BO, "2026-07-28", extensions=[MissionTasks(None)]) as other:
            for method in ("tasks/get", "tasks/cancel"):
                with pytest.raises(MCPError) as unseen:
                    await other.session.send_request(
                        TaskRequest(method=method, params={"taskId": mission_id}), TaskState
                    )
                assert (unseen.value.code, mission_id in str(unseen.value)) == (-32602, True)
        async with connect(ANN, "2026-07-28") as plain:
            with pytest.raises(MCPError) as unable:
                await plain.session.send_request(
                    TaskRequest(method="tasks/get", params={"taskId": mission_id}), TaskState
                )
            assert unable.value.code == -32021
        await mcp.session.send_request(
            TaskRequest(method="tasks/cancel", params={"taskId": mission_id}), types.EmptyResult
        )
        over = await until(mcp, mission_id, lambda one: one["over"])

    assert still == [wait]
    assert over["status"] == "cancelled"
