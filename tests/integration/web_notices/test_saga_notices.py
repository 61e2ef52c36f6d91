"""Cards of workflows of users and of sessions are in the feed, and announced like any other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_feed import mission_feed
from orchestrator.messages.events import AnyEvent, CardEvent, Cursor, read_cursor
from orchestrator.temporal import OrchestratorPlugin
from orchestrator.testing import eventually
from orchestrator.web import sight
from orchestrator.web.people import Person, Role
from orchestrator.web.web_service import Service
from tests.guarded_examples import card_of, saga_of
from tests.guarded_workflows import PERSON, Table
from tests.integration.web_notices.receiver import SECRET, receiving
from tests.integration.web_notices.test_announcing import rules

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

DAY = (date.today() + timedelta(days=7)).isoformat()


@asynccontextmanager
async def tables(stack: Stack, **changes: Any) -> AsyncIterator[Callable[[], Any]]:
    """A worker of the SDK with the plugin; the function starts a workflow that asks for a card."""
    plugin = OrchestratorPlugin(settings=stack.settings.model_copy(update=changes))
    temporal = await Client.connect(stack.address, plugins=[plugin])
    queue = f"tables-{uuid4().hex[:6]}"

    async def start() -> Any:
        return await temporal.start_workflow(
            Table.run, DAY, id=f"table/{uuid4()}", task_queue=queue
        )

    async with Worker(temporal, task_queue=queue, workflows=[Table]):
        yield start


async def test_a_card_of_a_users_workflow_is_announced_and_so_is_its_decision(
    stack: Stack, client: MissionClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, by the worker of its own queue."""
    monkeypatch.setenv("ORCHESTRATOR_SECRET_HOOK", SECRET)
    with receiving() as receiver:
        notices = tmp_path / "notices.yaml"
        plan = rules(receiver, routes=[{"channels": ["hook0"], "requesters": ["ana@*"]}])
        notices.write_text(json.dumps(plan), encoding="utf-8")
        async with tables(stack, notices=notices) as start:
            handle = await start()
            card = await card_of(client, "table", "dining_reserve_table")

            async def announced() -> list[Any]:
                return receiver.of("card.opened", card.confirmation_id)

            opened, *_ = await eventually(announced)
            await client.approve(card.confirmation_id, card.digest, approver="bob@example.com")
            await handle.result()

            async def decided() -> list[Any]:
                return receiver.of("card.decided", card.confirmation_id)

            (closed,) = await eventually(decided)

    assert opened.body["data"]["digest"] == card.digest
    assert opened.body["data"]["mission_id"] == saga_of(card)
    assert closed.body["data"]["decision"] == "approved"
    assert len({one.message_id for one in receiver.received}) == len(receiver.received) == 2


async def test_a_decision_is_not_missed_while_nobody_reads(
    stack: Stack, client: MissionClient
) -> None:
    """The cursor names the workflow, which no list shows once it waits no longer."""
    passed: list[Cursor] = []
    async with tables(stack) as start:
        handle = await start()
        card = await card_of(client, "table", "dining_reserve_table")

        async def opened() -> list[AnyEvent]:
            return await of_saga(client, saga_of(card), passed)

        first, *_ = await eventually(opened)
        await client.approve(card.confirmation_id, card.digest, approver="bob@example.com")
        await handle.result()

        async def later() -> list[AnyEvent]:
            return await of_saga(client, saga_of(card), passed, after=str(passed[-1]))

        events = await eventually(later)

    assert isinstance(first, CardEvent)
    assert (first.state, first.digest, first.requester) == ("opened", card.digest, card.requester)
    assert shown(events) == ["bob@example.com", "approved"]


async def test_a_session_is_in_the_feed_and_seen_by_its_requester(
    stack: Stack, client: MissionClient
) -> None:
    """One that is over stays in it for a while; nobody else sees it."""

    async def nobody(_: object) -> None:
        return None

    service = Service(client=client, settings=stack.settings, identify=nobody)
    session = await client.session(requester="ann@example.com")
    found: Any = await session.call("dining_search_tables", {"city": "Lisbon", "date": DAY})
    slot = {"table_slot_id": found["tables"][0]["table_slot_id"], **PERSON}
    await session.begin("dining_reserve_table", slot)
    card = await card_of(client, "session", "dining_reserve_table")
    await client.reject(card.confirmation_id, reason="no", approver="bob@example.com")

    async def seen_by(subject: str) -> list[AnyEvent]:
        person = Person(subject=subject, roles=(Role.REQUESTER,), proved_by="api token")
        events = sight.seen_events(service, person, after=None, follow=False)
        async with aclosing(events):
            return [one async for one in events if one.mission_id == saga_of(card)]

    async def of_ann() -> list[AnyEvent]:
        events = await seen_by("ann@example.com")
        return events if "rejected" in shown(events) else []

    events = await eventually(of_ann)
    others = await seen_by("eve@example.com")
    await session.rollback()

    assert shown(events) == ["opened", "bob@example.com", "rejected"]
    assert others == []


async def of_saga(
    client: MissionClient, saga_id: str, passed: list[Cursor], *, after: str | None = None
) -> list[AnyEvent]:
    feed = mission_feed(client.connection, after=after, follow=False, swept=passed.append)
    async with aclosing(feed):
        events = [event async for event in feed if event.mission_id == saga_id]
    assert all(read_cursor(event.cursor) for event in events)
    return events


def shown(events: list[AnyEvent]) -> list[str]:
    """The state of each card, and the approver of each decision."""
    return [str(getattr(one, "state", "") or getattr(one, "approver", "")) for one in events]
