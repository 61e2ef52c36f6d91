"""Notices outlive the build that they began on: unlike missions, they move to the current one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.core.command_lines import set_current
from orchestrator.messages import names
from orchestrator.testing import eventually
from tests.integration.test_rolling_upgrade import temporal
from tests.integration.web_notices.conftest import announcing
from tests.integration.web_notices.receiver import SECRET, Receiver, receiving
from tests.integration.web_notices.test_announcing import card_of, rules

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

QUEUE = "notices-upgraded"


async def test_a_new_build_announces_when_the_old_one_is_gone(stack: Stack, tmp_path: Path) -> None:
    with receiving(Receiver()) as receiver:
        async with announcing(stack, tmp_path, QUEUE, rules(receiver), hook=SECRET) as (
            running,
            client,
        ):
            # The worker that has just begun declares no build: one that does takes its place.
            await running.kill()
            running.environment["ORCHESTRATOR_BUILD_ID"] = "one"
            running.start()
            await temporal(stack, set_current(QUEUE, "one"))
            _, first = await card_of(client)
            await eventually(lambda: _opened(receiver, first.confirmation_id))
            running.environment["ORCHESTRATOR_BUILD_ID"] = "two"
            await running.kill()
            running.start()
            await temporal(stack, set_current(QUEUE, "two"))
            _, second = await card_of(client)
            await eventually(lambda: _opened(receiver, second.confirmation_id))
            found = await client.temporal.get_workflow_handle(
                names.notices_workflow_id(QUEUE)
            ).describe()

    info = found.raw_description.workflow_execution_info.versioning_info
    assert info.deployment_version.build_id == "two"


async def _opened(receiver: Receiver, wait_id: str) -> bool:
    return bool(receiver.of("card.opened", wait_id))
