"""Calls that cannot be made yet, and calls that cannot have been made."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.tool_activities import ToolActivities
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import TransportFailed
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import MemoryGrants, TrustedOrigins


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
            ToolActivities(
                store,
                client.as_client,
                MemoryGrants(),
                cast(Client, None),
                origins=TrustedOrigins(),
            ).invoke_tool,
            call,
        )

    if kind is None:
        with pytest.raises(ApplicationError, match="refused"):
            await invoke()
    else:
        outcome = await invoke()
        assert (outcome.kind, outcome.reason) == (kind, "find_order: the connection was refused")
