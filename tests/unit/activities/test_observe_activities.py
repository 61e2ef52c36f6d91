"""Observed calls at the wire: what is sent in any case, and what is refused all the same."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from orchestrator.activities.authority import Authority
from orchestrator.activities.observe_activities import ObserveActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.observed import ObservedCall, ObserveInput
from tests.fakes import MemoryCatalogs, MemoryGrants, MemoryPii, MemorySecrets
from tests.shipped import shipped_catalog
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import failure_of

CATALOG = shipped_catalog()
SAGA = names.saga_id("trip", "w", "r")
EVENT: JsonObject = {"title": "Dinner", "start_date": "2030-12-03"}


class Wire:
    """A provider, and what was sent to it."""

    def __init__(self, status: int = 201, body: JsonObject | None = None) -> None:
        self.sent: list[httpx.Request] = []
        self.status, self.body = status, body or {"event_id": "evt_1", "status": "confirmed"}
        self.fault: Exception | None = None

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.sent.append(request)
        if self.fault is not None:
            raise self.fault
        text, kind = json.dumps(self.body).encode(), {"content-type": "application/json"}
        return httpx.Response(self.status, headers=kind, stream=httpx.ByteStream(text))


async def observe(
    wire: Wire,
    arguments: JsonObject,
    *,
    tool: str = "calendar_create_event",
    may_observe: bool = True,
    attempt: int = 1,
    saga: str = SAGA,
) -> ObservedCall:
    catalogs = MemoryCatalogs()
    catalogs.put(CATALOG)
    tools = ToolClient(
        secrets=MemorySecrets(),
        pii=MemoryPii(),
        http=httpx.AsyncClient(transport=httpx.MockTransport(wire.answer)),
    )
    authority = Authority(serves_sagas=True, may_observe=may_observe)
    observing = ObserveActivities(catalogs, tools, MemoryGrants(), authority=authority)
    environment = of_mission("w", workflow_run_id="r", attempt=attempt)
    wanted = ObserveInput(
        call_id=names.call_id(saga, "call-1", 1),
        mission_id=saga,
        leg_id="call-1",
        tool=tool,
        catalog_digest=CATALOG.digest,
        origin="r",
        arguments=arguments,
        attempts=2,
    )
    return await environment.run(observing.observe_call, wanted)


async def test_a_call_is_sent_without_a_grant() -> None:
    """Its ledger entry says that it was observed, and how it can be cancelled."""
    wire = Wire()
    made = await observe(wire, EVENT)

    assert made.outcome.kind == "succeeded"
    assert made.obligation is not None
    assert made.obligation.observed
    assert made.outcome.cancel_inputs["event_id"] == "evt_1"
    assert wire.sent[0].headers["idempotency-key"]


async def test_what_breaks_the_contract_is_sent_and_returned() -> None:
    """As the user's code wrote the arguments, and would have read the answer."""
    wire = Wire(status=422, body={"error": "no start_date"})
    refused = await observe(wire, {"title": "Dinner"})
    answered = await observe(Wire(body={"event_id": 7, "made": "up"}), EVENT)

    assert json.loads(wire.sent[0].content)["title"] == "Dinner"
    assert refused.outcome.kind == "rejected"
    assert answered.is_answered
    assert answered.outcome.body == {"event_id": 7, "made": "up"}


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("ObserveRefused", {"may_observe": False}),
        ("CallUnowned", {"saga": names.saga_id("trip", "other", "r")}),
    ],
    ids=["guarding worker", "another workflow's saga"],
)
async def test_what_may_not_be_observed_is_not_sent(code: str, asked: dict[str, Any]) -> None:
    """Whatever a workflow asks for: observing is no way to call in another's name."""
    wire = Wire()
    refused = await failure_of(observe(wire, EVENT, **asked))

    assert (refused.type, refused.non_retryable) == (code, True)
    assert not wire.sent


async def test_an_unclear_attempt_is_repeated_only_under_a_key() -> None:
    """The last attempt returns the unknown outcome, with its ledger entry."""
    wire = Wire()
    wire.fault = httpx.ReadTimeout("late")

    assert not (await failure_of(observe(wire, EVENT))).non_retryable
    made = await observe(wire, EVENT, attempt=2)
    assert made.outcome.kind == "unknown"
    assert made.obligation is not None
