"""MissionClient: start missions, watch them, decide on their confirmations, roll them back."""

import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from temporalio.client import Client

from orchestrator.client.answer_sending import open_question
from orchestrator.client.connection import Connection, connect_temporal
from orchestrator.client.decisions import send_decision
from orchestrator.client.key_use import KeyUse, key_use
from orchestrator.client.known_mission import KnownMission, known_mission
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.mission_list import list_missions
from orchestrator.client.mission_rollback import (
    RollbackPreview,
    preview_rollback,
    read_report,
    roll_back,
)
from orchestrator.client.overview import MissionSummary
from orchestrator.client.parked_rollbacks import parked_rollbacks, resolve_parked
from orchestrator.client.result_retention import KeptResult, kept_result, kept_summaries
from orchestrator.client.start import Starter
from orchestrator.client.stores import store_of
from orchestrator.client.waiting_legs import (
    all_waiting,
    leg_of,
    waiting_of,
    warn_of_unasked,
)
from orchestrator.confirmation.models import (
    Amend,
    Approve,
    ConfirmationCard,
    Decision,
    DecisionReceipt,
    Reject,
    Respond,
    Then,
)
from orchestrator.core import command_lines, errors
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import AcceptedMission, MissionRequest
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.parked import ParkedRollback
from orchestrator.messages.rollback import (
    ResolveInput,
    RollbackReport,
    SweepInput,
    SweepReport,
)
from orchestrator.planning.models import OneCall
from orchestrator.saga.ledger import Resolution
from orchestrator.settings import Settings, load_settings

if TYPE_CHECKING:  # imported where they are used: a command uses one of them
    from orchestrator.client.batch import Batch
    from orchestrator.client.kept_file import KeptFile
    from orchestrator.client.mission_schedules import Schedules
    from orchestrator.messages.events import AnyEvent
    from orchestrator.messages.plan_preview import PlanPreview

_log = logging.getLogger(__name__)


class MissionClient:
    """Missions of one task queue: thin over a Temporal client, stateless, safe to make anywhere."""

    def __init__(self, client: Client, settings: Settings) -> None:
        """Take a connected Temporal client, as `connect_temporal` makes it."""
        self.temporal = client
        self.connection = Connection(client, settings.task_queue)
        self._settings = settings
        self._starter = Starter(self.connection, settings)

    @classmethod
    async def connect(cls, settings: Settings | None = None) -> "MissionClient":
        """Connect as TEMPORAL_ADDRESS and the SDK's other variables and files say.

        Raises:
            ServerUnreachable: nothing answers there.
            PayloadKeysInvalid: the keys of payloads are not written as they should be.
        """
        settings = settings or load_settings()
        return cls(await connect_temporal(settings=settings), settings)

    @property
    def schedules(self) -> "Schedules":
        """Missions that the server starts again and again."""
        from orchestrator.client.mission_schedules import Schedules

        return Schedules(self.connection, self._starter)

    @property
    def batch(self) -> "Batch":
        """Many missions, so many at a time."""
        from orchestrator.client.batch import Batch

        return Batch(self.connection, self._starter, hides_goals=self._settings.encrypts)

    async def start(self, request: MissionRequest) -> MissionHandle:
        """Start a mission: when this returns, it is on the server and will run.

        Once a worker has taken it up; or when none did in a few seconds: then `queued` of the
        handle says why, and it runs as soon as there is a worker. The same mission id with the
        same request is the same mission, however often it is sent. Values of personal inputs
        stay behind in the vault, for this mission alone; inputs that no tool takes are in
        `undeclared_inputs` of the handle.

        Raises:
            UsageError: an input that no tool takes looks personal.
            MissionIdTaken: the id is that of a mission with another goal, inputs or budget.
        """
        started = await self._starter.start(request)
        return MissionHandle(
            self.connection,
            started.mission_id,
            undeclared_inputs=started.undeclared_inputs,
            queued=started.queued,
        )

    async def events(
        self,
        *,
        after: str | None = None,
        follow: bool = True,
        tell: Callable[[Exception], None] | None = None,
    ) -> "AsyncGenerator[AnyEvent, None]":
        """Cards, decisions and questions of all missions, as they come about; without end.

        It begins with those of the missions that run. Each event has a `cursor`; whoever gives it
        as `after` gets exactly the events that follow. No worker is asked.

        Args:
            after: the cursor of an event of this feed; None: begin anew.
            follow: go on; else end with what there is by now.
            tell: given what is in the way, and what cannot be read; with it, a server that is away
                is waited for without end, else for minutes.
        """
        from orchestrator.client.live.mission_feed import mission_feed  # loads the workflows

        async for event in mission_feed(self.connection, after=after, follow=follow, tell=tell):
            yield event

    async def follow_up(self, named: str, request: MissionRequest) -> MissionRequest:
        """A request that makes the one call of a follow-up action, and nothing else.

        Args:
            named: its id, as the mission's result has it, or MISSION:N for the Nth of its list.
            request: what holds for the new mission otherwise: its id, budget, policy.

        Raises:
            UsageError: the mission lists no such follow-up.
            MissionNotFound: neither the server nor the store knows the mission.
        """
        mission_id = named.partition(":")[0].partition(".")[0]
        try:
            result = await self.get(mission_id).snapshot()
        except errors.MissionNotFound:
            result = (await self.kept(mission_id)).result
        found = result.follow_up(named)
        if found is None:
            raise errors.UsageError(
                f"{mission_id} lists no follow-up {named!r}; see: "
                f"{command_lines.show_mission(mission_id)}"
            )
        goal = f"{found.title} ({', '.join(f'{n} {v}' for n, v in found.inputs.items())})"
        call = OneCall(tool=found.tool, arguments=found.inputs)
        changes = {"goal": goal, "call": call, "read_only": found.kind == "read"}
        return request.model_copy(update=changes)

    async def submit(self, request: MissionRequest) -> AcceptedMission:
        """Start a mission and learn in the same round trip what it will do, or why it will not.

        For a process that keeps nothing: give a mission id, and after a crash, or for a caller who
        asks twice, send the same request again; it gets the same answer, and one mission runs.

        Raises:
            MissionRefused: it cannot be planned; nothing was done.
            MissionIdTaken: the id is that of a mission with another goal, inputs or budget.
            MissionQueued: it is on the server, and no worker has taken it up in time.
            NoWorker: nobody would plan it; it was not started.
        """
        return await self._starter.submit(request)

    async def plan(self, request: MissionRequest) -> "PlanPreview":
        """What a mission of this request would do, as a worker plans it now; nothing is done.

        No mission begins, no value is stored, no tool is called. What a worker planned stays as a
        run of its own in the server's history, with the goal.

        Raises:
            PlanRefused: it cannot be planned, for instance since no tool does what it asks.
            UsageError: an input that no tool takes looks personal.
            NoWorker: nobody is there to plan it.
        """
        from orchestrator.client.plan_preview_call import preview_plan

        return await preview_plan(self.connection, self._starter, request)

    def get(self, mission_id: str) -> MissionHandle:
        """A mission that was started before, maybe by another process.

        Raises:
            MissionNotFound: its id is empty; whether there is one of that id, its methods find out.
        """
        if not mission_id.strip():
            raise errors.MissionNotFound(mission_id)
        return MissionHandle(self.connection, mission_id)

    async def missions(self, *, limit: int = 50, status: str | None = None) -> list[MissionSummary]:
        """The newest missions, newest first, with what each waits for.

        Where the server knows no more than these, those whose results the store still has follow.

        Args:
            limit: at most this many.
            status: only those that stand so, their rollbacks included: `parked` for instance.

        Raises:
            UsageError: there is no such status.
        """
        found = await list_missions(self.connection, status=status, limit=limit)
        if len(found) == limit:
            return found
        known = [one.mission_id for one in found]
        try:
            with store_of(self._settings) as store, self.connection.explaining():
                found += await kept_summaries(
                    self.temporal,
                    store.results,
                    status=status,
                    limit=limit - len(found),
                    besides=known,
                )
        except (errors.StoreUnavailable, errors.StoreRefused) as away:
            _log.warning("missions that only the store knows are not listed: %s", away)
        return sorted(found, key=lambda one: one.started_at, reverse=True)

    async def kept(self, mission_id: str) -> KeptResult:
        """The result of a mission that the server no longer knows, as the store has kept it.

        Raises:
            MissionNotFound: it does not know it either.
        """
        with store_of(self._settings) as store:
            return await kept_result(self.temporal, store.results, mission_id)

    async def record(self, mission_id: str) -> JsonObject:
        """All that is on record of a mission that is over, for audit.

        Of one that the server no longer knows that is its result, with `kept_as_of`.

        Raises:
            UsageError: it, or its rollback, still goes on.
            MissionNotFound: the store does not know it either.
        """
        try:
            return await self.get(mission_id).record()
        except errors.MissionNotFound:
            from orchestrator.client.kept_record import record_of_kept

            kept = await self.kept(mission_id)
            return record_of_kept(kept, namespace=self.temporal.namespace)

    async def file(self, mission_id: str, handle: str) -> "KeptFile":
        """A file that a mission received, with its bytes, by the handle that answers have of it.

        Raises:
            FileUnknown: the mission has received no such file, or it is no longer kept.
            StateLacking: the store cannot be read now.
        """
        from orchestrator.client.kept_file import mission_file

        return await mission_file(self._settings, mission_id, handle)

    async def known(self, mission_id: str, *, why: str) -> KnownMission:
        """What the server says of a mission whose worker is away.

        Raises:
            MissionNotFound: nothing.
        """
        return await known_mission(self.connection, mission_id, why=why)

    async def waiting(self) -> Waiting:
        """Every card and question of every mission, and the legs that could not be asked."""
        return await all_waiting(self.connection)

    async def confirmations(self) -> list[ConfirmationCard]:
        """Every card of every mission that waits for a decision; see `waiting`, too.

        Raises:
            NoWorker: of all the legs that wait, none could be asked.
        """
        waiting = await self.waiting()
        warn_of_unasked(waiting)
        return list(waiting.cards)

    async def questions(self) -> list[Question]:
        """Every question of every mission that waits for an answer; see `waiting`, too.

        Raises:
            NoWorker: of all the legs that wait, none could be asked.
        """
        waiting = await self.waiting()
        warn_of_unasked(waiting)
        return list(waiting.questions)

    async def question(self, question_id: str) -> Question | None:
        """One question by its id; None when it is not open."""
        return await open_question(self.connection, question_id)

    async def confirmation(self, confirmation_id: str) -> ConfirmationCard:
        """One open card by its id.

        Raises:
            CardUnknown: it is not open, or never was.
        """
        waiting = await waiting_of(self.connection, leg_of(confirmation_id))
        if waiting is None or waiting.card is None:
            raise errors.CardUnknown(confirmation_id, "no such confirmation is open")
        if waiting.card.confirmation_id != confirmation_id:
            raise errors.CardUnknown(
                confirmation_id, f"not open; this leg now asks {waiting.card.confirmation_id}"
            )
        return waiting.card

    async def approve(self, confirmation_id: str, digest: str, *, approver: str) -> DecisionReceipt:
        """Yes, to the card with this digest."""
        return await self.decide(
            Approve(confirmation_id=confirmation_id, digest=digest, approver=approver)
        )

    async def amend(
        self, confirmation_id: str, changes: JsonObject, *, approver: str
    ) -> DecisionReceipt:
        """Change arguments of an open card."""
        return await self.decide(
            Amend(confirmation_id=confirmation_id, changes=changes, approver=approver)
        )

    async def reject(
        self, confirmation_id: str, *, reason: str, approver: str, then: Then = "replan"
    ) -> DecisionReceipt:
        """No, why, and what follows: see `MissionHandle.reject`."""
        return await self.decide(
            Reject(confirmation_id=confirmation_id, reason=reason, approver=approver, then=then)
        )

    async def respond(self, confirmation_id: str, *, text: str, approver: str) -> DecisionReceipt:
        """Not this: the planner looks again with a hint, and asks again."""
        return await self.decide(
            Respond(confirmation_id=confirmation_id, text=text, approver=approver)
        )

    async def decide(self, decision: Decision) -> DecisionReceipt:
        """Send a decision.

        Raises:
            ConfirmationError: of the kind that says why it was refused; nothing changed.
            NoWorker: nobody would take it.
        """
        return await send_decision(self.connection, decision)

    async def rollback_preview(self, mission_id: str) -> RollbackPreview:
        """What a rollback of a mission that is over would take back; nothing is started.

        Raises:
            UsageError: the mission still runs: cancel it, and it rolls itself back.
        """
        return await preview_rollback(self.connection, self.get(mission_id).mission_id)

    async def rollback(
        self, mission_id: str, *, reason: str, approver: str | None = None
    ) -> RollbackReport:
        """Roll back a mission that is over, however it ended; waits until everything was tried.

        A rollback that runs is joined; one that was broken off is taken up where it stopped, even
        when the mission still runs, for then it waits for it.

        Args:
            mission_id: of the mission.
            reason: for the record.
            approver: who decided on it, for the record: needed for a mission that succeeded.

        Raises:
            UsageError: the mission still runs: cancel it, and it rolls itself back. Or it
                succeeded, and nobody is named who decided.
        """
        return await roll_back(self.connection, mission_id, reason=reason, approver=approver)

    async def rollback_report(self, mission_id: str) -> RollbackReport:
        """Where the rollback of a mission stands.

        Raises:
            UsageError: nothing of it was rolled back, or there is no such mission.
        """
        return await read_report(self.connection, mission_id)

    async def resolve(
        self, obligation_id: str, resolution: Resolution, *, operator: str, note: str = ""
    ) -> RollbackReport:
        """Decide on a parked obligation: retry it, note it as cancelled, or accept it.

        Raises:
            ObligationNotParked: it is not, or no more; with who decided on it before.
            NoWorker: nobody would take it, so that it was not sent; or nobody answered in time.
        """
        return await resolve_parked(
            self.connection,
            ResolveInput(
                obligation_id=obligation_id, resolution=resolution, operator=operator, note=note
            ),
        )

    async def purge_personal(self, mission_id: str, *, force: bool = False) -> tuple[str, ...]:
        """Remove the personal values that a mission brought; the names of the fields.

        What it has seen, which may hold them, goes with them.

        Raises:
            UsageError: the mission or its rollback may still need them, and it was not forced.
        """
        from orchestrator.client.personal_retention import purge_mission

        with store_of(self._settings) as store, self.connection.explaining():
            return await purge_mission(
                self.temporal,
                store.vault,
                mission_id,
                observations=store.observations,
                force=force,
            )

    async def parked(self) -> list[ParkedRollback]:
        """Every rollback that waits for an operator, from the moment it has parked something.

        One that cannot be asked is there as well, with the reason in `unread`.
        """
        return await parked_rollbacks(self.connection)

    async def payload_key_use(self) -> list[KeyUse]:
        """How many recorded workflows need each payload key; reads all that the server keeps."""
        with self.connection.explaining():
            return await key_use(self.temporal)

    async def sweep(self) -> SweepReport:
        """Start the rollback of every mission that was stopped from outside and left something.

        Workers do the same by themselves every few minutes. What was stopped in the last second may
        not show in the server's search yet.

        Raises:
            NoWorker: nobody would run it.
        """
        await self.connection.await_poller()
        queue = self._settings.task_queue
        with self.connection.explaining():
            report: SweepReport = await self.temporal.execute_workflow(
                names.SWEEP_WORKFLOW,
                SweepInput(),
                id=f"{names.sweep_schedule_id(queue)}-{secrets.token_hex(3)}",
                task_queue=queue,
                result_type=SweepReport,
                static_summary="a sweep that somebody asked for",
            )
            return report
