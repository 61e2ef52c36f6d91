"""Calls that cannot be made yet, and calls that cannot have been made."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.prepare_activities import PrepareActivities
from activities.tool_activities import ToolActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import TransportFailed
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import MemoryGrants, MemoryPii, MemorySecrets, fake_tool

PERSONAL = fake_tool("book_flight", cancel_tool="cancel_flight", personal=["phone", "traveler_id"])


class OneCatalog(CatalogStore):
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get(self, digest: str) -> Catalog:
        return self._catalog


async def _prepared(vault: MemoryPii, **arguments: Any) -> PreparedCall:
    catalog = Catalog({}, {PERSONAL.name: PERSONAL})
    async with ToolClient(secrets=MemorySecrets(), pii=vault) as tools:
        return await ActivityEnvironment().run(
            PrepareActivities(OneCatalog(catalog), tools, cast(Client, None)).prepare_call,
            PrepareInput(
                call_id="m.l.1",
                mission_id="m",
                leg_id="l",
                tool=PERSONAL.name,
                arguments=arguments,
                catalog_digest=catalog.digest,
                now=datetime(2026, 11, 21, tzinfo=UTC),
            ),
        )


async def test_fields_that_the_vault_lacks_are_named_instead_of_a_call() -> None:
    """Wherever their handles stand; those that it holds are not."""
    prepared = await _prepared(
        MemoryPii({"phone": "+4930"}), phone="pii:phone", note="for pii:traveler_id."
    )

    assert prepared.missing_personal == ("traveler_id",)
    assert (prepared.call, prepared.problems) == (None, ())


async def test_fields_that_no_argument_uses_are_not_missed() -> None:
    """A call without handles needs no vault."""
    prepared = await _prepared(MemoryPii(), seat="12A")

    assert prepared.missing_personal == ()
    assert prepared.call is not None


@pytest.mark.parametrize(
    ("attempts", "arrived", "kind"),
    [(1, False, "rejected"), (1, True, None), (3, False, None), (3, True, None)],
)
async def test_a_single_attempt_that_never_left_is_settled(
    shop: Callable[..., Catalog],
    store: CatalogStore,
    scripted: Any,
    attempts: int,
    arrived: bool,
    kind: str | None,
) -> None:
    """It is no unclear outcome; where more attempts follow or went before, it stays one."""
    catalog = shop()
    failed = TransportFailed("find_order", "the connection was refused", may_have_arrived=arrived)
    client = scripted({"find_order": [failed]})
    environment = ActivityEnvironment()
    policy = RetryPolicy(maximum_attempts=attempts)
    environment.info = replace(environment.info, retry_policy=policy)
    call = ToolCall(
        call_id="m.l.1",
        mission_id="m",
        leg_id="l",
        tool="find_order",
        catalog_digest=catalog.digest,
        arguments={},
    )

    async def invoke() -> ToolOutcome:
        return await environment.run(
            ToolActivities(store, client.as_client, MemoryGrants(), cast(Client, None)).invoke_tool,
            call,
        )

    if kind is None:
        with pytest.raises(ApplicationError, match="refused"):
            await invoke()
    else:
        outcome = await invoke()
        assert (outcome.kind, outcome.reason) == (kind, "find_order: the connection was refused")
