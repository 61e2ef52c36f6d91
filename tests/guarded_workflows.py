"""Workflows of users, for workers that serve sagas; a module of its own, as sandboxes import it."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ApplicationError, NexusOperationError

with workflow.unsafe.imports_passed_through():
    from orchestrator import ToolCallFailed, ToolSaga

PERSON: Final = {"traveler_name": "pii:traveler_name", "traveler_phone": "pii:traveler_phone"}


@workflow.defn
class Table:
    """Reserves a table, and returns the saga and the reservation."""

    @workflow.run
    async def run(self, day: str) -> list[str]:
        """Reserve the first one that is found."""
        async with ToolSaga("table", requester="ana@example.com") as saga:
            return [saga.saga_id, await reserve(saga, day)]


@workflow.defn
class TwoTables:
    """Reserves a table, and another one that does not exist."""

    @workflow.run
    async def run(self, day: str) -> None:
        """Fail at the second."""
        async with ToolSaga("tables", requester="ana@example.com") as saga:
            await reserve(saga, day)
            gone: dict[str, Any] = {"table_slot_id": "tbl_nosuchslot", **PERSON}
            await saga.call("dining_reserve_table", gone)


@workflow.defn
class Unclosed:
    """Reserves a table in a saga whose block never ends."""

    @workflow.run
    async def run(self, day: str) -> None:
        """Leave it open."""
        saga = await ToolSaga("table").__aenter__()
        await reserve(saga, day)


@workflow.defn
class Clumsy:
    """Uses sagas as they cannot be used."""

    @workflow.run
    async def run(self, how: str) -> str:
        """Return what the error says."""
        try:
            match how:
                case "one name twice":
                    async with ToolSaga(), ToolSaga():
                        pass
                case "no such tool":
                    async with ToolSaga() as saga:
                        await saga.call("dining_reserve_tabel")
                case "outside of its block":
                    await ToolSaga().call("dining_search_tables")
        except ToolCallFailed as failed:
            return failed.reason
        except ApplicationError as error:
            return error.message
        return ""


@workflow.defn
class TakenName:
    """Has an update of its own under a name that sagas need."""

    @workflow.update
    async def decide(self, what: str) -> str:
        """Decide on something else."""
        return what

    @workflow.run
    async def run(self, uses_saga: bool) -> str:
        """Make no call."""
        if not uses_saga:
            return "no saga"
        try:
            async with ToolSaga():
                return ""
        except ApplicationError as error:
            return error.message


class Note(BaseModel):
    """A model that the SDK's own converter does not write."""

    text: str


@workflow.defn
class Noted:
    """Needs the data converter of another plugin."""

    @workflow.run
    async def run(self, day: str, note: Note) -> Note:
        """Reserve a table, and give the note back."""
        async with ToolSaga("table", requester="ana@example.com") as saga:
            await reserve(saga, day)
        return note


async def reserve(saga: ToolSaga, day: str) -> str:
    """Reserve a table, and return the reservation's id."""
    found: Any = await saga.call("dining_search_tables", {"city": "Lisbon", "date": day})
    slot = found["tables"][0]["table_slot_id"]
    table: Any = await saga.call("dining_reserve_table", {"table_slot_id": slot, **PERSON})
    return str(table["reservation_id"])


@workflow.defn
class Caller:
    """A workflow that knows sessions by their Nexus service alone, as one in another language."""

    @workflow.run
    async def run(self, endpoint: str, days: list[str], ends: str) -> dict[str, Any]:
        """Reserve a table for each day, and end the session."""
        sessions = workflow.create_nexus_client(service="OrchestratorSessions", endpoint=endpoint)

        async def send(operation: str, message: dict[str, Any]) -> Any:
            return await sessions.execute_operation(operation, message, output_type=dict)

        opened = await send("open", {"requester": "ana@example.com", "idle_limit": 600})
        session = {"session_id": opened["session_id"]}
        calls = []
        for day in days:
            search = {"tool": "dining_search_tables", "arguments": {"city": "Lisbon", "date": day}}
            found = await send("call", {**session, **search})
            slot = found["body"]["tables"][0]["table_slot_id"]
            wanted = {
                "tool": "dining_reserve_table",
                "arguments": {"table_slot_id": slot, **PERSON},
                "key": f"table-{day}",
            }
            begun = await send("begin", {**session, **wanted})
            calls.append(await send("outcome", begun))
        result = await send(ends, session)
        return {"saga": opened["saga_id"], "status": result["status"], "calls": calls}


@workflow.defn
class Beginner:
    """Begins a call in a session over Nexus."""

    @workflow.run
    async def run(self, endpoint: str, session_id: str) -> str:
        """Return what the error says."""
        sessions = workflow.create_nexus_client(service="OrchestratorSessions", endpoint=endpoint)
        wanted = {"session_id": session_id, "tool": "dining_search_tables"}
        try:
            await sessions.execute_operation("begin", wanted, output_type=dict)
        except NexusOperationError as failed:
            return str(failed.cause)
        return ""


@workflow.defn
class Sender:
    """Sends messages to a Nexus service as they are, one after another."""

    @workflow.run
    async def run(self, endpoint: str, messages: list[list[Any]]) -> list[Any]:
        """Return the answers; ids in later messages are those of the answers before."""
        sessions = workflow.create_nexus_client(service="OrchestratorSessions", endpoint=endpoint)
        answers: list[Any] = []
        ids: dict[str, Any] = {}
        for operation, message in messages:
            sent = {**message, **{name: ids[name] for name in message.keys() & ids.keys()}}
            answer = await sessions.execute_operation(operation, sent, output_type=dict)
            ids |= {name: answer[name] for name in ("session_id", "call_id") if name in answer}
            answers.append(answer)
        return answers
