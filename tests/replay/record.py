"""Records the histories of this folder from real runs: `python tests/replay/record.py`.

Run it when the shape of a workflow is released: it adds the histories that are not there yet. Those
that are stay as they were, for a history that no longer replays is a mission under way that would
break.
"""

import argparse
import asyncio
import base64
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecution, WorkflowHistory

from orchestrator import ToolCallFailed
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.session_handle import SessionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, TwoApprovers
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionResult
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.notice import DeliveryReport
from orchestrator.runtime.demo import DINING, DINNER, LEAVING, RETURNING, TRIP
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.sandbox.faults import FaultKind
from orchestrator.settings import bundled_specs
from orchestrator.testing import Decide, approve, eventually, run_to_end

HISTORIES = Path(__file__).parent / "histories"
MUST_FAIL = "must_fail"
WRONG_ACTIVITY = "an_activity_that_no_workflow_calls"


class Recorder:
    """Runs missions on an installation and writes down what the server keeps of them."""

    def __init__(self, client: MissionClient, sandbox: SandboxClient, folder: Path) -> None:
        """Take where missions run, where they can be disturbed, and where to write."""
        self._client = client
        self._sandbox = sandbox
        self._folder = folder

    async def record_all(self) -> None:
        """One mission after the other, each for what is special about it."""
        await self.announced()  # first: its feed has every card after it
        await self.succeeded()
        await self.rolled_back()
        await self.parked_and_resolved()
        await self.amended()
        await self.rejected()
        await self.asked()
        await self.cancelled()
        await self.asked_again()
        await self.swept()
        await self.approved_by_two()
        await self.cancelled_of_another()
        await self.incomplete()
        await self.overcharged()
        await self.asked_about_its_plan()
        await self.plan_approved()
        await self.plan_shown()
        await self.sent_back()
        await self.sessions()
        await self.held()

    async def announced(self) -> None:
        """Notices of which one channel takes some, and none the others; the feed, cancelled."""
        temporal = self._client.temporal
        feed_id = names.notices_workflow_id(self._client.connection.task_queue)
        feed = await temporal.get_workflow_handle(feed_id).describe()
        query = f"WorkflowType = '{names.NOTICE_WORKFLOW}' AND ExecutionStatus = 'Completed'"

        async def ended(state: str) -> str:
            async for one in temporal.list_workflows(query):
                handle = temporal.get_workflow_handle(one.id, result_type=DeliveryReport)
                if (await handle.result()).state == state:
                    return one.id
            return ""

        mission = await self._start(DINNER)
        delivered = await eventually(lambda: ended("delivered"))
        await self._write("notice-delivered-by-the-next", delivered)
        await run_to_end(mission)
        await self._write("notice-undelivered", await eventually(lambda: ended("failed")))
        run = temporal.get_workflow_handle(feed_id, run_id=feed.run_id)
        await run.cancel()

        async def is_over() -> bool:
            return (await run.describe()).close_time is not None

        await eventually(is_over)
        await self._write("notices", feed_id, feed.run_id)

    async def sessions(self) -> None:
        """A session that stands, with a call refused; and one rolled back while a card is open."""
        session = await self._client.session(requester="ana@example.com")
        for_two: JsonObject = {"city": "Lisbon", "date": DINING}
        found: Any = await session.call("dining_search_tables", for_two)
        first, second, *_ = [one["table_slot_id"] for one in found["tables"]]
        call_id = await session.begin("dining_reserve_table", _table(first), reason="asked for")
        await self._approve_of(session, "dining_reserve_table")
        await session.outcome(call_id)
        async with self._trouble("dining_reserve_table", "status_before", status=409):
            refused = await session.begin("dining_reserve_table", _table(second), key="second")
            await self._approve_of(session, "dining_reserve_table")
            with suppress(ToolCallFailed):
                await session.outcome(refused)
        await session.complete()
        await self._write("session-completed", session.session_id)

        session = await self._client.session(budget=Money.model_validate(_BUDGET))
        begun = await session.begin("dining_reserve_table", _table(first))
        await self._approve_of(session, "dining_reserve_table")
        await session.outcome(begun)
        await session.begin("dining_reserve_table", _table(second))
        await self._card_of(session, "dining_reserve_table")
        await session.rollback(reason="recorded")
        await self._write("session-rolled-back", session.session_id)

    async def _card_of(self, session: SessionHandle, tool: str) -> ConfirmationCard:
        saga_id = await session.saga_id()

        async def look() -> ConfirmationCard | None:
            cards = await self._client.confirmations()
            of_session = [c for c in cards if names.mission_of(c.confirmation_id) == saga_id]
            return next((card for card in of_session if card.tool == tool), None)

        card = await eventually(look)
        assert card is not None
        return card

    async def _approve_of(self, session: SessionHandle, tool: str) -> None:
        """Approve the card of a tool in a session."""
        card = await self._card_of(session, tool)
        await self._client.approve(card.confirmation_id, card.digest, approver="recorder")

    async def held(self) -> None:
        """A hold whose failed call is made again with other arguments."""
        mission = await self._start(DINNER, policy=MissionPolicy(on_failure="ask"))
        async with self._trouble("message_send", "status_before", status=409):
            for tool in ("dining_reserve_table", "message_send"):
                (card,) = await eventually(lambda of=tool: _cards_of(mission, of))  # type: ignore[misc]
                await approve(mission, card)
            (question,) = await eventually(mission.questions)
        text: JsonObject = {"decision": "repair", "arguments": {"text": "Dinner is on!"}}
        await mission.answer(question.question_id, text, answered_by="recorder")
        result = await run_to_end(mission)
        await self._write("mission-held-and-repaired", result.mission_id)

    async def succeeded(self) -> None:
        """Legs side by side, a budget that they share, confirmations, facts handed on."""
        budget = Money.model_validate({"amount": 900, "currency": "EUR"})
        mission = await self._start(TRIP, budget=budget)
        result = await run_to_end(mission)
        await self._write("mission-succeeded", result.mission_id)

    async def rolled_back(self) -> None:
        """A leg whose provider refuses for good, and what is taken back because of it."""
        async with self._trouble("message_send", "status_before", status=409):
            result = await run_to_end(await self._start(DINNER))
        await self._write("mission-rolled-back", result.mission_id)
        await self._write("rollback-done", names.rollback_workflow_id(result.mission_id))

    async def parked_and_resolved(self) -> None:
        """A cancel that is refused, parked, retried in vain and retried with success."""
        result = await run_to_end(await self._start(DINNER))
        async with self._trouble("dining_cancel_reservation", "refuse_cancel"):
            report = await self._client.rollback(
                result.mission_id, reason="recorded", approver="ann"
            )
            (parked,) = report.parked
            await self._client.resolve(parked.obligation_id, "retry", operator="recorder")
            await self._until_parked(result.mission_id, parked.settled_at)
        await self._client.resolve(parked.obligation_id, "retry", operator="recorder")
        rollback_id = names.rollback_workflow_id(result.mission_id)
        await self._client.temporal.get_workflow_handle(rollback_id).result()
        await self._write("rollback-parked-and-resolved", rollback_id)

    async def amended(self) -> None:
        """A card whose arguments a person changes before the new card is approved."""
        result = await self._decided_on("message_send", _amend_once())
        await self._write("mission-amended", result.mission_id)

    async def rejected(self) -> None:
        """A card that a person rejects."""

        async def reject(mission: MissionHandle, card: ConfirmationCard) -> None:
            await mission.reject(card, reason="not today", approver="recorder")

        result = await self._decided_on("message_send", reject)
        await self._write("mission-rejected", result.mission_id)

    async def sent_back(self) -> None:
        """A card that is sent back, a question, the card that follows, and a leg left out."""
        mission = await self._start(f"Book a flight from Berlin to Lisbon on {LEAVING}")
        (first,) = await eventually(mission.confirmations)
        await mission.respond(first, text="a later flight", approver="recorder")
        (question,) = await eventually(mission.questions)
        ((name, field),) = question.fields.items()
        offers: Any = field["oneOf"]
        last: JsonObject = {name: offers[-1]["const"]}
        await mission.answer(question.question_id, last, answered_by="recorder")

        async def skip(mission: MissionHandle, card: ConfirmationCard) -> None:
            await mission.reject(card, reason="by train", approver="recorder", then="skip")

        result = await run_to_end(mission, skip)
        await self._write("mission-sent-back-and-skipped", result.mission_id)

    async def asked(self) -> None:
        """A leg that asks for what its goal does not say."""
        mission = await self._start("Book a flight to Lisbon")
        (question,) = await eventually(mission.questions)
        values: JsonObject = {name: _ANSWERS[name] for name in question.fields}
        await mission.answer(question.question_id, values, answered_by="recorder")
        result = await run_to_end(mission)
        await self._write("mission-asked", result.mission_id)

    async def cancelled(self) -> None:
        """A mission that a person cancels while a card is open and a table is booked."""

        async def cancel(mission: MissionHandle, card: ConfirmationCard) -> None:
            await mission.cancel()

        result = await self._decided_on("message_send", cancel)
        await self._write("mission-cancelled", result.mission_id)

    async def asked_again(self) -> None:
        """A card that expires after a reminder, and is approved when it is shown again."""
        second = timedelta(seconds=1)
        rules = ConfirmationPolicy(reminders=(second / 2,), on_expiry="ask_again")
        policy = MissionPolicy(confirmation_expiry=2 * second, confirmation=rules)

        async def when_asked_again(mission: MissionHandle, card: ConfirmationCard) -> None:
            if card.round > 1:
                await approve(mission, card)

        mission = await self._start(DINNER, policy=policy)
        result = await run_to_end(mission, when_asked_again)
        await self._write("mission-asked-again", result.mission_id)

    async def swept(self) -> None:
        """The sweep that finds a mission which was terminated when a table was booked."""

        async def terminate(mission: MissionHandle, card: ConfirmationCard) -> None:
            await self._client.temporal.get_workflow_handle(mission.mission_id).terminate()

        result = await self._decided_on("message_send", terminate)

        async def sweep() -> bool:
            return result.mission_id in (await self._client.sweep()).started

        await eventually(sweep)
        query = f"WorkflowType = '{names.SWEEP_WORKFLOW}' AND ExecutionStatus = 'Completed'"

        async def ended() -> list[WorkflowExecution]:
            return [one async for one in self._client.temporal.list_workflows(query)]

        # What has just ended shows in searches a moment later.
        newest = max(await eventually(ended), key=lambda execution: execution.start_time)
        await self._write("sweep", newest.id)

    async def approved_by_two(self) -> None:
        """A card that two people approve, one after the other."""
        rules = ConfirmationPolicy(two_approvers=(TwoApprovers(tools=("dining_*",)),))

        async def by_both(mission: MissionHandle, card: ConfirmationCard) -> None:
            receipt = await mission.approve(card, approver="ann")
            if receipt.card is not None:
                await mission.approve(receipt.card, approver="bob")

        mission = await self._start(DINNER, policy=MissionPolicy(confirmation=rules))
        result = await run_to_end(mission, by_both)
        await self._write("mission-approved-by-two", result.mission_id)

    async def cancelled_of_another(self) -> None:
        """A cancel of what another mission booked, which a person approves."""
        goal = f"Reserve a table in Lisbon on {DINING} at 20:00 for 4"
        booked = await run_to_end(await self._start(goal))
        reference = booked.receipts[0].reference["reservation_id"]
        result = await run_to_end(await self._start(f"Cancel table reservation {reference}"))
        await self._write("mission-cancelling-of-another", result.mission_id)

    async def incomplete(self) -> None:
        """A leg that only looks where something was ordered: its ending is refused once."""
        result = await run_to_end(
            await self._start("Give Dana access to the contract: d@x.example")
        )
        await self._write("mission-incomplete", result.mission_id)

    async def overcharged(self) -> None:
        """A call that cost more than its card said: its leg cancels it when nobody keeps it."""
        goal = f"Reserve a table in Lisbon on {DINING} at 20:00 for 4"
        budget = Money.model_validate({"amount": 80, "currency": "EUR"})

        async def keep_none(mission: MissionHandle, card: ConfirmationCard) -> None:
            if card.card_type == "structured-overcharge":
                await mission.reject(card, reason="too dear", approver="recorder", then="skip")
            else:
                await approve(mission, card)

        async with self._trouble("dining_reserve_table", "overcharge"):
            result = await run_to_end(await self._start(goal, budget=budget), keep_none)
        await self._write("mission-overcharged", result.mission_id)

    async def asked_about_its_plan(self) -> None:
        """A goal in doubt: said otherwise in vain, and gone on with."""
        mission = await self._start(
            f"Reserve a table in Lisbon on {DINING} at 20:00 for 4, then frobnicate it"
        )
        for words in ("sing me a song", "go on"):
            (question,) = await eventually(mission.questions)
            await mission.answer(question.question_id, {"answer": words}, answered_by="recorder")
            await eventually(lambda asked=question: _is_gone(mission, asked.question_id))  # type: ignore[misc]
        result = await run_to_end(mission)
        await self._write("mission-asked-about-its-plan", result.mission_id)

    async def plan_approved(self) -> None:
        """A plan that is sent back once, and approved as it was said otherwise."""
        mission = await self._start(TRIP, policy=MissionPolicy(plan_first=True))
        (card,) = await eventually(mission.confirmations)
        goal = f"Reserve a table in Lisbon on {DINING} at 20:00 for 4"
        await mission.respond(card, text=goal, approver="recorder")
        result = await run_to_end(mission)
        await self._write("mission-plan-approved", result.mission_id)

    async def plan_shown(self) -> None:
        """A plan that nothing follows from."""
        await self._client.plan(MissionRequest(goal=TRIP))
        shown = self._client.temporal.list_workflows(f"WorkflowType = '{names.PLAN_WORKFLOW}'")

        async def found() -> list[str]:
            return [one.id async for one in shown]

        (workflow_id,) = await eventually(found)
        await self._write("plan-shown", workflow_id)

    async def _decided_on(self, tool: str, decide: Decide) -> MissionResult:
        """A dinner whose cards are approved, except for those of one tool."""

        async def decide_on(mission: MissionHandle, card: ConfirmationCard) -> None:
            await (decide if card.tool == tool else approve)(mission, card)

        return await run_to_end(await self._start(DINNER), decide_on)

    async def _start(
        self, goal: str, *, budget: Money | None = None, policy: MissionPolicy | None = None
    ) -> MissionHandle:
        request = MissionRequest(goal=goal, budget=budget, policy=policy or MissionPolicy())
        return await self._client.start(request)

    @asynccontextmanager
    async def _trouble(
        self, operation: str, kind: FaultKind, *, status: int = 503
    ) -> AsyncIterator[None]:
        rule = FaultRule(operation_id=operation, kind=kind, status=status)
        await self._sandbox.set_faults([rule])
        yield
        await self._sandbox.clear_faults()

    async def _until_parked(self, mission_id: str, before: object) -> None:
        async def parked_again() -> bool:
            report = await self._client.rollback_report(mission_id)
            return any(o.settled_at != before for o in report.parked)

        await eventually(parked_again)

    async def _write(self, name: str, workflow_id: str, run_id: str | None = None) -> None:
        path = self._folder / f"{name}.json"
        if path.exists():
            return
        handle = self._client.temporal.get_workflow_handle(workflow_id, run_id=run_id)
        history = await handle.fetch_history()
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = json.dumps(_without_traces(json.loads(history.to_json())), indent=2)
        path.write_text(kept + "\n", encoding="utf-8")


def _without_traces(value: JsonValue) -> JsonValue:
    """A history without stack traces: they hold paths of this machine, and nothing replays them."""
    if isinstance(value, dict):
        return {n: _without_traces(held) for n, held in value.items() if n != "stackTrace"}
    return [_without_traces(held) for held in value] if isinstance(value, list) else value


async def _is_gone(mission: MissionHandle, question_id: str) -> bool:
    """Whether a question is no longer open."""
    return question_id not in [one.question_id for one in await mission.questions()]


async def _cards_of(mission: MissionHandle, tool: str) -> list[ConfirmationCard]:
    """The open cards of a tool."""
    return [card for card in await mission.confirmations() if card.tool == tool]


_BUDGET = {"amount": 900, "currency": "EUR"}


def _table(slot: str) -> JsonObject:
    """The arguments of a reservation."""
    person = {name: f"pii:{name}" for name in ("traveler_name", "traveler_phone")}
    return {"table_slot_id": slot, **person}


_ANSWERS = {"origin": "Berlin", "departure_date": LEAVING, "return_date": RETURNING}


def _amend_once() -> Decide:
    amended: list[str] = []

    async def amend(mission: MissionHandle, card: ConfirmationCard) -> None:
        if amended:
            await approve(mission, card)
            return
        amended.append(card.confirmation_id)
        await mission.amend(card, {"text": "Dinner is on!"}, approver="recorder")

    return amend


def break_history(folder: Path) -> None:
    """Write the history that must not replay: cut short, and with another activity's name.

    A history that ended is only compared up to what its last command needed, so a wrong name can
    slip through; before its last workflow task every command is compared.
    """
    target = folder / MUST_FAIL / "mission-with-a-wrong-activity.json"
    if target.exists():
        return
    text = (folder / "mission-succeeded.json").read_text(encoding="utf-8")
    history = WorkflowHistory.from_json("broken", text)
    events = list(history.events)
    last_task = max(
        index
        for index, event in enumerate(events)
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
    )
    events = events[:last_task]
    scheduled = next(e for e in events if e.HasField("activity_task_scheduled_event_attributes"))
    scheduled.activity_task_scheduled_event_attributes.activity_type.name = WRONG_ACTIVITY
    broken = WorkflowHistory(workflow_id="broken", events=events)
    target.parent.mkdir(exist_ok=True)
    target.write_text(broken.to_json() + "\n", encoding="utf-8")


@contextmanager
def _channels(folder: Path) -> Iterator[dict[str, str]]:
    """Give the variables of a worker that announces; of two channels, one takes cards alone."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    opened = ["card.opened"]
    there = f"http://127.0.0.1:{server.server_port}/"
    rules = {
        "channels": {
            "away": {"webhook": "http://127.0.0.1:9/", "secrets": ["recorded"]},
            "there": {"webhook": there, "secrets": ["recorded"], "events": opened},
        },
        "routes": [{"channels": ["away", "there"]}],
        "next_after": 1,
        "give_up_after": 1,
    }
    file = folder / "notices.yaml"
    file.write_text(json.dumps(rules), encoding="utf-8")
    secret = "whsec_" + base64.b64encode(b"recorded").decode()
    yield {"ORCHESTRATOR_NOTICES": str(file), "ORCHESTRATOR_SECRET_RECORDED": secret}
    server.shutdown()


async def record(folder: Path, only: Sequence[str] = ()) -> None:
    """Start an installation, run the missions, or some of them, and write the histories."""
    with (
        tempfile.TemporaryDirectory(prefix="orchestrator-record-") as scratch,
        _channels(Path(scratch)) as variables,
    ):
        policy = Path(scratch) / "policy.yaml"
        policy.write_text("confirmation: {on_expiry: ask_again}", encoding="utf-8")
        stack = Stack(
            Path(scratch),
            (bundled_specs(),),
            Ports.free(),
            variables={"ORCHESTRATOR_MISSION_POLICY": str(policy), **variables},
        )
        async with stack, SandboxClient(stack.sandbox_url) as sandbox:
            recorder = Recorder(await stack.client(), sandbox, folder)
            if not only:
                await recorder.record_all()
            for name in only:
                await getattr(recorder, name)()
    break_history(folder)


def main() -> None:
    """Record into the folder beside this script, or into another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HISTORIES, help="folder to write to")
    parser.add_argument("--only", nargs="*", default=(), help="methods of Recorder, as: sessions")
    given = parser.parse_args()
    folder: Path = given.out
    asyncio.run(record(folder, given.only))
    for path in sorted(folder.rglob("*.json")):
        sys.stdout.write(f"{path.stat().st_size / 1000:7.1f} kB  {path.relative_to(folder)}\n")


if __name__ == "__main__":
    main()
