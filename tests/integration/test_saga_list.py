"""Sagas and sessions in the list of missions, and what `mission show` says of one."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from temporalio.client import Client
from temporalio.worker import Worker

from orchestrator.client.mission_client import MissionClient
from orchestrator.temporal import OrchestratorPlugin
from tests.guarded_examples import all_approved, card_of, saga_of
from tests.guarded_workflows import PERSON, Table

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Cli

DAY = (date.today() + timedelta(days=7)).isoformat()


async def test_sessions_are_listed_and_shown(client: MissionClient, cli: Cli) -> None:
    """One that waits, and one that was rolled back, each with what it made."""
    waiting, ended = await client.session(), await client.session()
    found: Any = await ended.call("dining_search_tables", {"city": "Lisbon", "date": DAY})
    table = {"table_slot_id": found["tables"][0]["table_slot_id"], **PERSON}
    async with all_approved(client, "session"):
        await ended.call("dining_reserve_table", table)
    await ended.rollback()
    await waiting.begin("dining_reserve_table", table)
    await card_of(client, "session", "dining_reserve_table")
    listed, shown, over, page = await asyncio.gather(
        cli("mission", "list", "--json"),
        cli("mission", "show", waiting.session_id, "--json"),
        cli("mission", "show", ended.session_id, "--json"),
        cli("mission", "show", ended.session_id),
    )
    by_saga = await cli("mission", "show", await ended.saga_id(), "--json")
    await waiting.rollback()

    rows = {one["mission_id"]: one for one in listed.json}
    kinds = [
        (rows[one.session_id]["kind"], rows[one.session_id]["status"]) for one in (waiting, ended)
    ]
    assert kinds == [("session", "running"), ("session", "rolled_back")]
    assert [one["kind"] for one in shown.json["waits_for"]] == ["confirmation"]
    assert over.json["kind"] == "session"
    assert [one["state"] for one in over.json["ledger"]["obligations"]] == ["cancelled"]
    assert by_saga.json["ledger"] == over.json["ledger"]
    assert (page.exit_code, "rollback show" in page.stdout) == (0, True)


async def test_a_saga_is_listed_while_it_waits_and_shown_after(
    stack: Stack, client: MissionClient, cli: Cli
) -> None:
    """An id of nothing is refused as ever."""
    plugin = OrchestratorPlugin(settings=stack.settings)
    temporal = await Client.connect(stack.address, plugins=[plugin])
    queue = f"tables-{uuid4().hex[:6]}"
    async with Worker(temporal, task_queue=queue, workflows=[Table]):
        handle = await temporal.start_workflow(
            Table.run, DAY, id=f"table/{uuid4()}", task_queue=queue
        )
        card = await card_of(client, "table", "dining_reserve_table")
        saga = saga_of(card)
        listed = await cli("mission", "list", "--json")
        page = await cli("mission", "list")
        await client.approve(card.confirmation_id, card.digest, approver="bob@example.com")
        await handle.result()
    shown, nothing = await asyncio.gather(
        cli("mission", "show", saga, "--json"), cli("mission", "show", "table-0123456789abcdef")
    )

    (row,) = [one for one in listed.json if one["mission_id"] == saga]
    assert (row["kind"], row["status"]) == ("saga", "running")
    assert [one["kind"] for one in row["waits_for"]] == ["confirmation"]
    assert "kind" in page.stdout
    assert [one["state"] for one in shown.json["ledger"]["obligations"]] == ["committed"]
    assert nothing.exit_code == 2
