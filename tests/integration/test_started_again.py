"""Starting a mission from a process that keeps nothing: one request, one answer, one mission."""

from __future__ import annotations

import asyncio
import contextlib
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import errors
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.devserver import Stack
from orchestrator.testing import eventually
from tests.fakes import own_id

if TYPE_CHECKING:
    from tests.integration.conftest import Witness

WEATHER = "What is the weather in Oslo tomorrow?"
ALERTS = "Subscribe to weather alerts for Oslo"


def weather(mission_id: str, **more: object) -> MissionRequest:
    return MissionRequest.model_validate({"goal": WEATHER, "mission_id": mission_id, **more})


async def test_a_client_that_died_and_asks_again_starts_one_mission(
    stack: Stack, sandbox: Witness
) -> None:
    """While it runs, and when it is over: one mission, and one request to its provider."""
    mission_id = own_id("same-again")
    request = weather(mission_id)
    dying = asyncio.create_task((await stack.client()).start(request))
    await asyncio.sleep(0.05)
    dying.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await dying
    await asyncio.gather(*[(await stack.client()).start(request) for _ in range(2)])
    client = await stack.client()
    await client.get(mission_id).result()

    assert (await client.start(request)).mission_id == mission_id
    assert len(await sandbox.requests(mission_id)) == 1


@pytest.mark.parametrize("over", [False, True], ids=["running", "over"])
async def test_an_id_is_not_given_to_another_request(client: MissionClient, over: bool) -> None:
    """The mission that has it is unharmed; the refusal says what to do."""
    mission_id = own_id(f"same-taken-{over}")
    await client.start(weather(mission_id))
    if over:
        await client.get(mission_id).result()
    other = weather(mission_id, inputs={"city": "Rome"})

    with pytest.raises(errors.MissionIdTaken, match="choose another id"):
        await client.start(other)
    result = await client.get(mission_id).result()

    assert result.status is MissionStatus.SUCCEEDED


async def test_the_snippet_of_the_docs_does_what_they_say(
    stack: Stack, client: MissionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that knows ids alone starts a mission, reads a card and approves it."""
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    mission_id = own_id("same-docs")
    request = MissionRequest(goal=ALERTS, mission_id=mission_id)
    await client.start(request)

    async def opened() -> list[ConfirmationCard]:
        return await client.get(mission_id).confirmations()

    (card,) = await eventually(opened)
    known = {
        "goal": ALERTS,
        "order_id": mission_id,
        "confirmation_id": card.confirmation_id,
        "digest_the_person_saw": card.digest,
        "logged_in": "ann@example.com",
    }
    said = await _run_snippet(known)
    result = await client.get(mission_id).result()

    assert said["card"] == card
    assert result.receipts[0].confirmed_by == "ann@example.com"


async def _run_snippet(known: dict[str, str]) -> dict[str, Any]:
    """Run that block of docs/confirmation.md; the names it has set."""
    text = (Path(__file__).parents[2] / "docs" / "confirmation.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (snippet,) = [block for block in blocks if "order_id" in block]
    names: dict[str, Any] = dict(known)
    arguments = ", ".join(known)
    body = textwrap.indent(f"{snippet}\nreturn locals()", "    ")
    exec(f"async def shown({arguments}):\n{body}", names)
    found: dict[str, Any] = await names["shown"](**known)
    return found
