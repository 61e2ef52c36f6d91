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
from orchestrator.testing import eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Witness

WEATHER = "What is the weather in Oslo tomorrow?"
ALERTS = "Subscribe to weather alerts for Oslo"


def weather(mission_id: str, **more: object) -> MissionRequest:
    return MissionRequest.model_validate({"goal": WEATHER, "mission_id": mission_id, **more})


async def test_a_mission_answers_with_its_plan(client: MissionClient) -> None:
    """What it will do is known when the call returns, and is what it then does."""
    accepted = await client.submit(weather("submit-once"))
    result = await client.get("submit-once").result()

    assert accepted.mission_id == "submit-once"
    assert [leg.goal for leg in accepted.plan.legs] == [leg.goal for leg in result.legs]
    assert accepted.catalog.digest == result.catalog_digest
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_client_that_died_and_asks_again_hears_the_same(
    stack: Stack, sandbox: Witness
) -> None:
    """While it runs, and when it is over: the same answer from another client, and one mission."""
    request = weather("submit-again")
    dying = asyncio.create_task((await stack.client()).submit(request))
    await asyncio.sleep(0.05)
    dying.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await dying
    answers = await asyncio.gather(*[(await stack.client()).submit(request) for _ in range(2)])
    client = await stack.client()
    await client.get("submit-again").result()
    after = await client.submit(request)

    assert answers == [after, after]
    assert (await client.start(request)).mission_id == "submit-again"
    assert len(await sandbox.requests("submit-again")) == 1


@pytest.mark.parametrize("over", [False, True], ids=["running", "over"])
async def test_an_id_is_not_given_to_another_request(client: MissionClient, over: bool) -> None:
    """The mission that has it is unharmed; the refusal says what to do."""
    mission_id = f"submit-taken-{over}"
    accepted = await client.submit(weather(mission_id))
    if over:
        await client.get(mission_id).result()
    other = weather(mission_id, inputs={"city": "Rome"})

    for ask in (client.submit, client.start):
        with pytest.raises(errors.MissionIdTaken, match="choose another id"):
            await ask(other)
    result = await client.get(mission_id).result()

    assert accepted.refusal is None
    assert result.status is MissionStatus.SUCCEEDED


async def test_what_cannot_be_planned_is_refused_in_one_sentence(client: MissionClient) -> None:
    """At once, and again whenever it is asked; the mission is on record as failed."""
    request = MissionRequest(goal="Qwertz asdf yxcv", mission_id="submit-refused")
    said = []
    for _ in range(2):
        with pytest.raises(errors.MissionRefused) as refused:
            await client.submit(request)
        said.append(str(refused.value))
    result = await run_to_end(client.get("submit-refused"))

    assert said[0] == said[1] == f"submit-refused: {result.error}"
    assert result.status is MissionStatus.FAILED


async def test_the_snippet_of_the_docs_does_what_they_say(
    stack: Stack, client: MissionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that knows ids alone starts a mission, reads a card and approves it."""
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    request = MissionRequest(goal=ALERTS, mission_id="submit-docs")
    await client.submit(request)

    async def opened() -> list[ConfirmationCard]:
        return await client.get("submit-docs").confirmations()

    (card,) = await eventually(opened)
    known = {
        "goal": ALERTS,
        "order_id": "submit-docs",
        "confirmation_id": card.confirmation_id,
        "digest_the_person_saw": card.digest,
        "logged_in": "ann@example.com",
    }
    said = await _run_snippet(known)
    result = await client.get("submit-docs").result()

    assert said["legs"] == [leg.goal for leg in result.legs]
    assert said["card"] == card
    assert result.receipts[0].confirmed_by == "ann@example.com"


async def _run_snippet(known: dict[str, str]) -> dict[str, Any]:
    """Run that block of docs/confirmation.md; the names it has set."""
    text = (Path(__file__).parents[2] / "docs" / "confirmation.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (snippet,) = [block for block in blocks if "client.submit" in block]
    names: dict[str, Any] = dict(known)
    arguments = ", ".join(known)
    body = textwrap.indent(f"{snippet}\nreturn locals()", "    ")
    exec(f"async def shown({arguments}):\n{body}", names)
    found: dict[str, Any] = await names["shown"](**known)
    return found
