"""Cards, approvers and cancels that a written workflow states for tools whose document has none."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from orchestrator.arazzo.arazzo_files import content_of
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.call_ref import StatedCancel
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import ToolCall
from orchestrator.planning.models import WorkflowSource
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import FaultRule
from orchestrator.sandbox.sandbox_server import SandboxClient
from orchestrator.testing import eventually, run_to_end
from tests.forked import ForkedStack

SPEC = """
openapi: 3.1.0
info: {title: Notes, version: 1.0.0}
servers:
  - url: http://{host}:{port}/notes
    variables: {host: {default: 127.0.0.1}, port: {default: "8099"}}
paths:
  /notes:
    post:
      operationId: note_add
      summary: Add a note
      x-orchet-tool: true
      x-orchet-requires-confirmation: false
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [text], properties: {text: {type: string}}}
      responses:
        "201":
          description: made
          content:
            application/json:
              schema:
                type: object
                required: [note_id]
                properties: {note_id: {type: string}, text: {type: string}}
  /notes/{note_id}:
    delete:
      operationId: note_remove
      summary: Remove a note
      x-orchet-tool: true
      x-orchet-requires-confirmation: false
      parameters: [{name: note_id, in: path, required: true, schema: {type: string}}]
      responses: {"204": {description: removed}}
  /publications:
    post:
      operationId: note_publish
      summary: Publish a text
      x-orchet-tool: true
      x-orchet-requires-confirmation: structured-message
      x-orchet-irreversible: true
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [text], properties: {text: {type: string}}}
      responses: {"204": {description: published}}
  /boards:
    get:
      operationId: board_find
      summary: Find a board
      x-orchet-tool: true
      responses:
        "200":
          description: found
          content:
            application/json:
              schema: {type: object, properties: {board_id: {type: string}}}
"""
TWO = """
arazzo: 1.0.1
info: {title: Notes, version: 1.0.0}
sourceDescriptions: [{name: notes, url: ./notes.yaml, type: openapi}]
workflows:
  - workflowId: two
    inputs: {type: object, properties: {text: {type: string}}}
    steps:
      - stepId: add
        operationId: note_add
        x-orchet-requires-confirmation: structured-message
        x-orchet-card-text: "Adds {$inputs.text}"
        x-orchet-approvers: [ana@example.com]
        x-orchet-compensation:
          operationId: note_remove
          parameters: [{name: note_id, in: path, value: $response.body.note_id}]
        requestBody: {payload: {text: $inputs.text}}
      - stepId: board
        operationId: board_find
"""

STANDING = MissionPolicy.model_validate(
    {"confirmation": {"standing": [{"name": "notes", "tools": ["note_add"]}]}}
)


@pytest.fixture(scope="module")
async def notes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """An installation whose provider adds and removes notes."""
    folder = tmp_path_factory.mktemp("notes")
    specs = folder / "notes.yaml"
    specs.write_text(SPEC)
    policy = folder / "policy.json"
    policy.write_text(STANDING.model_dump_json())
    variables = {"ORCHESTRATOR_MISSION_POLICY": str(policy)}
    stack = ForkedStack(folder / "state", (specs,), Ports.free(), variables=variables)
    async with stack as running:
        yield running


@pytest.fixture
async def client(notes: Stack) -> MissionClient:
    """A client of it."""
    return await notes.client()


def wanted(text: str, document: str = TWO, **terms: Any) -> MissionRequest:
    """A request to add that text."""
    source = WorkflowSource(document=content_of("two", document))
    return MissionRequest(goal="Two notes", workflow=source, inputs={"text": text}, **terms)


async def test_the_card_says_what_the_workflow_states(client: MissionClient) -> None:
    """Its approvers alone decide, and it names the cancel; the text is shown as it stands."""
    asked: list[ConfirmationCard] = []

    async def note(mission: MissionHandle, card: ConfirmationCard) -> None:
        asked.append(card)
        await mission.approve(card, approver="ana@example.com")

    result = await run_to_end(await client.start(wanted("<b>milk</b>")), note)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    (card,) = asked
    assert (card.card_type, card.approvers) == ("structured-message", ("ana@example.com",))
    assert card.cancel_terms is not None
    assert card.cancel_terms.tool == "note_remove"
    (sends,) = [one.value for one in card.other_inputs if one.label == "Cancel sends"]
    assert sends == 'note_remove {"note_id": "$response.body#/note_id"}'
    assert "Adds <b>milk</b>" in card.model_dump_json()


async def test_the_stated_cancel_is_made_by_rollback(client: MissionClient, notes: Stack) -> None:
    """With the id of the answer; it is in the ledger before the call is sent."""
    async with SandboxClient(notes.sandbox_url) as sandbox:
        refused = FaultRule(operation_id="board_find", kind="status_before", status=404, times=1)
        await sandbox.set_faults([refused])

        async def note(mission: MissionHandle, card: ConfirmationCard) -> None:
            await mission.approve(card, approver="ana@example.com")

        mission = await client.start(wanted("milk"))
        result = await run_to_end(mission, note)

        assert result.status is MissionStatus.ROLLED_BACK, result.error
        (made,) = result.ledger.obligations
        assert (made.cancel_tool, made.state) == ("note_remove", "cancelled")
        assert not await sandbox.live(mission.mission_id)


MORE = TWO.replace(
    """      - stepId: board
        operationId: board_find
""",
    """      - stepId: more
        operationId: note_add
        x-orchet-requires-confirmation: structured-message
        x-orchet-approvers: [ana@example.com]
        x-orchet-compensation:
          operationId: note_remove
          parameters: [{name: note_id, in: path, value: $response.body.note_id}]
        requestBody: {payload: {text: more}}
""",
)


async def test_a_repaired_step_keeps_its_terms(client: MissionClient, notes: Stack) -> None:
    """Its approvers and its cancel are those of the workflow, as for the first call."""
    async with SandboxClient(notes.sandbox_url) as sandbox:
        refused = FaultRule(
            operation_id="note_add", kind="status_before", status=422, times=1, after=1
        )
        await sandbox.set_faults([refused])
        mission = await client.start(wanted("milk", MORE, on_failure="ask"))
        asked: list[ConfirmationCard] = []

        async def held() -> str:
            for card in await mission.confirmations():
                asked.append(card)
                await mission.approve(card, approver="ana@example.com")
            return next((q.question_id for q in await mission.questions() if q.hold), "")

        held_id = await eventually(held)
        await mission.answer(held_id, {"decision": "repair"}, answered_by="ana@example.com")

        async def note(mission: MissionHandle, card: ConfirmationCard) -> None:
            asked.append(card)
            await mission.approve(card, approver="ana@example.com")

        result = await run_to_end(mission, note)

        assert result.status is MissionStatus.SUCCEEDED, result.error
        assert {one.approvers for one in asked} == {("ana@example.com",)}
        assert {one.card_type for one in asked} == {"structured-message"}
        live = [one.cancel_tool for one in result.ledger.obligations if one.is_live]
        assert live == ["note_remove"] * 2


BARE = TWO.replace("        x-orchet-approvers: [ana@example.com]\n", "")
PUBLISHES = BARE.replace(
    """          operationId: note_remove
          parameters: [{name: note_id, in: path, value: $response.body.note_id}]
""",
    """          operationId: note_publish
          requestBody: {payload: {text: for all the world}}
""",
)


async def test_no_standing_approval_covers_a_cancel_that_people_are_asked_about(
    client: MissionClient,
) -> None:
    """Its inputs stand on the card and under the digest; a cancel that asks nobody is covered."""
    asked: list[ConfirmationCard] = []

    async def note(mission: MissionHandle, card: ConfirmationCard) -> None:
        asked.append(card)
        await mission.approve(card, approver="ana@example.com")

    quiet = await run_to_end(await client.start(wanted("milk", BARE, policy=STANDING)), note)
    assert (quiet.status, asked) == (MissionStatus.SUCCEEDED, [])

    loud = await run_to_end(await client.start(wanted("milk", PUBLISHES, policy=STANDING)), note)
    assert loud.status is MissionStatus.SUCCEEDED, loud.error
    (card,) = asked
    assert "for all the world" in str(card.other_inputs)


@pytest.mark.parametrize("stated", [None, StatedCancel(tool="note_remove")])
def test_the_digest_covers_the_stated_cancel(stated: StatedCancel | None) -> None:
    """An approval of one cancel is none of another."""
    made = ToolCall(
        call_id="m.a.1",
        mission_id="m",
        leg_id="a",
        tool="note_add",
        catalog_digest="d",
        arguments={},
        stated_cancel=stated,
    )
    other = StatedCancel(tool="note_publish", arguments={"text": "for all the world"})

    assert made.approval_terms != made.model_copy(update={"stated_cancel": other}).approval_terms
