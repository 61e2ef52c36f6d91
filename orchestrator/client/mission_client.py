"""MissionClient: starts missions, watches them, decides on their cards, rolls them back."""

import secrets
from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from temporalio.client import Client

from orchestrator.adapters.temporal.plain_records import client_for_records
from orchestrator.adapters.temporal.search_attributes import AGENT
from orchestrator.client.connection import Connection, Notify, connect_temporal
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.mission_list import KnownMission, MissionSummary, summaries
from orchestrator.client.mission_pages import MissionFilter, MissionPage, mission_page
from orchestrator.client.mission_rollback import (
    RollbackPreview,
    parked_rollbacks,
    preview_rollback,
    resolve_parked,
    roll_back,
)
from orchestrator.client.mission_state import read_report
from orchestrator.client.saga_list import SagaAccount, list_sagas, saga_account
from orchestrator.client.start import Starter, preview_plan
from orchestrator.client.stores import store_of
from orchestrator.client.waits import (
    all_waiting,
    open_card,
    open_question,
    opened_cards,
    send_decision,
    workflow_of,
)
from orchestrator.confirmation.models import (
    Approve,
    ConfirmationCard,
    Decision,
    DecisionReceipt,
    Reject,
    Then,
)
from orchestrator.confirmation.same_again import AgainRecord, RevokeAgain, SameAgain
from orchestrator.core import command_lines, errors
from orchestrator.core.budget import Money
from orchestrator.messages import names
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy, check_not_widened
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.rollback import (
    ParkedRollback,
    ResolveInput,
    RollbackReport,
    SweepInput,
    SweepReport,
)
from orchestrator.messages.session import LONGEST_IDLE, OnIdle, SessionTerms
from orchestrator.planning.models import OneCall
from orchestrator.saga.obligation import Resolution
from orchestrator.settings import Settings, load_policy, load_settings

if TYPE_CHECKING:  # imported in the functions that use them: a command uses only one
    from orchestrator.client.observe_report import ObserveReport
    from orchestrator.client.session_handle import SessionHandle
    from orchestrator.client.stores import KeptFile
    from orchestrator.messages.events import AnyEvent, Cursor
    from orchestrator.messages.plan_preview import PlanPreview


class MissionClient:
    """Missions of one task queue, over a Temporal client; it keeps no state.

    Example:
        client = await MissionClient.connect()
        mission = await client.start(MissionRequest(goal="Book a room in Rome"))
        async for card in mission.cards():
            await mission.approve(card, approver="ann@example.com")
        result = await mission.result()
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        """Take a connected Temporal client, with any data converter."""
        client = client_for_records(client)
        self.temporal = client
        self.connection = Connection(client, settings.task_queue)
        self._settings = settings
        self._starter = Starter(self.connection, settings)

    @classmethod
    async def connect(cls, settings: Settings | None = None) -> "MissionClient":
        """Connect by the settings of the SDK, such as TEMPORAL_ADDRESS.

        Raises:
            ServerUnreachable: nothing answers at the address.
            UsageError: as PayloadKeysInvalid: the payload keys are malformed.
        """
        settings = settings or load_settings()
        return cls(await connect_temporal(settings=settings), settings)

    async def start(self, request: MissionRequest) -> MissionHandle:
        """Start a mission: when this returns, the mission is on the server and will run.

        If no worker starts the mission within seconds, `queued` of the handle gives the reason; the
        mission runs as soon as a worker is there. Sending the same id with the same request again
        changes nothing. Values of personal inputs stay in the vault, for this mission alone;
        `undeclared_inputs` of the handle lists the inputs that no tool takes.

        Raises:
            UsageError: an input that no tool takes looks personal.
            MissionIdTaken: a mission with another goal, inputs or budget has the id.
        """
        return await self._starter.start(request)

    async def session(
        self,
        *,
        budget: Money | None = None,
        requester: str = "",
        policy: MissionPolicy | None = None,
        idle_limit: timedelta = timedelta(hours=1),
        on_idle: OnIdle = "rollback",
        session_id: str | None = None,
    ) -> "SessionHandle":
        """Start a session: guarded calls of a loop that runs anywhere, without a planner.

        Args:
            budget: limit of the total price of its calls; None: no limit.
            requester: the person who asks for the calls, for rules on approvers.
            policy: as of a mission; None: the policy of the settings.
            idle_limit: a session that nobody touches for so long, with no call under way, is rolled
                back. An open card is a call under way.
            on_idle: `park` shows it in the list of waits instead.
            session_id: sent again with the same terms, it is the same session; None: a new one.

        Raises:
            UsageError: the id or the limit is invalid.
            UsageError: as PolicyWidened: the policy allows more than that of the settings.
            SessionError: the id is that of a session with other terms, or of one that is over.
            NoWorker: no worker is there to serve it.
        """
        from orchestrator.client.session_handle import start_session

        ours = load_policy(self._settings.mission_policy)
        if ours is not None and policy is not None:
            check_not_widened(policy, ours)
        if not timedelta(seconds=1) <= idle_limit <= LONGEST_IDLE:
            raise errors.UsageError(
                f"an idle limit of {idle_limit} is none: give one from a second to {LONGEST_IDLE}"
            )
        terms = SessionTerms(
            budget=budget,
            requester=requester,
            policy=policy or ours or MissionPolicy(),
            idle_limit=idle_limit,
            on_idle=on_idle,
        )
        return await start_session(self.connection, terms, session_id)

    def session_handle(self, session_id: str) -> "SessionHandle":
        """Return the handle of a session that was started earlier, possibly by another process.

        Methods of the handle raise SessionError for an unknown id.
        """
        from orchestrator.client.session_handle import SessionHandle

        return SessionHandle(self.connection, session_id)

    async def events(
        self,
        *,
        after: str | None = None,
        follow: bool = True,
        notify: Notify | None = None,
        swept: "Callable[[Cursor], None] | None" = None,
    ) -> "AsyncGenerator[AnyEvent, None]":
        """Yield cards, decisions and questions of all missions as they occur, without end.

        The feed begins with the events of running missions. Each event has a `cursor`: passed as
        `after`, it continues the feed with exactly the events that follow.

        Args:
            after: the cursor of an event of this feed; None: from the beginning.
            follow: wait for new events; if False, end with the events so far.
            notify: called with unreadable histories and with the reasons why the server does not
                answer. If given, the feed waits for the server forever, else for minutes.
            swept: called after each look for more, when its events were yielded, with a cursor
                that passes over the time since the last event.
        """
        from orchestrator.client.mission_feed import mission_feed  # loads the workflows

        async for event in mission_feed(
            self.connection, after=after, follow=follow, notify=notify, swept=swept
        ):
            yield event

    async def follow_up(self, named: str, request: MissionRequest) -> MissionRequest:
        """Return a request that makes only the one call of a follow-up action.

        The action is named by its id in the mission's result, or as MISSION:N, the Nth of its list.
        Id, budget and policy are those of the request.

        Raises:
            UsageError: the mission lists no such follow-up.
            MissionNotFound: the server does not know the mission.
        """
        mission_id = named.partition(":")[0].partition(".")[0]
        found = (await self.get(mission_id).snapshot()).follow_up(named)
        if found is None:
            raise errors.UsageError(
                f"{mission_id} lists no follow-up {named!r}; see: "
                f"{command_lines.show_mission(mission_id)}"
            )
        goal = f"{found.title} ({', '.join(f'{n} {v}' for n, v in found.inputs.items())})"
        call = OneCall(tool=found.tool, arguments=found.inputs)
        changes = {"goal": goal, "call": call, "read_only": found.kind == "read"}
        return request.model_copy(update=changes)

    async def plan(self, request: MissionRequest) -> "PlanPreview":
        """Return the plan that a worker now makes for this request, without starting a mission.

        No value is stored, no tool is called. The plan stays as a run of its own in the server's
        history, with the goal.

        Raises:
            PlanRefused: no plan is possible, for instance since no tool does what the goal asks.
            UsageError: an input that no tool takes looks personal.
            NoWorker: no worker is there to plan.
        """
        return await preview_plan(self.connection, self._starter, request)

    def get(self, mission_id: str) -> MissionHandle:
        """Return the handle of a mission that was started earlier, possibly by another process.

        Raises:
            MissionNotFound: the id is empty; methods of the handle raise it for an unknown id.
        """
        if not mission_id.strip():
            raise errors.MissionNotFound(mission_id)
        return MissionHandle(self.connection, mission_id)

    async def sagas(self, *, limit: int = 50) -> list[MissionSummary]:
        """Return the newest sessions, and the sagas that wait for somebody, newest first."""
        return await list_sagas(self.connection, limit=limit)

    async def saga(self, saga_id: str) -> SagaAccount:
        """Return the state and the obligations of a saga or a session.

        Raises:
            MissionNotFound: there is no such saga or session.
        """
        with store_of(self._settings) as store, self.connection.explaining():
            return await saga_account(self.connection, store.grants, saga_id)

    async def missions(self, *, limit: int = 50, status: str | None = None) -> list[MissionSummary]:
        """Return missions, newest first, with their waits.

        Of more than `limit`, the server takes those that run before those that are over. A status
        includes the effects of rollbacks: `parked` for instance.

        Raises:
            UsageError: there is no such status.
        """
        found: list[MissionSummary] = []
        cursor: str | None = None
        while len(found) < limit:
            page = await self.mission_page(
                MissionFilter(status=status), limit=limit - len(found), cursor=cursor
            )
            found += page.missions
            if (cursor := page.next) is None:
                break
        return sorted(found, key=lambda one: one.started_at, reverse=True)

    async def mission_page(
        self, wanted: MissionFilter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> MissionPage:
        """Return a page of the missions of a filter: running ones first, then the last to end.

        A filter by text reads a bounded number of missions for a page, which may then be short or
        empty. `cursor` is `next` of the page before, for the same filter; None: the first page.

        Raises:
            UsageError: there is no such status, or no such cursor.
        """
        return await mission_page(
            self.connection, wanted or MissionFilter(), limit=limit, cursor=cursor
        )

    async def file(self, mission_id: str, handle: str) -> "KeptFile":
        """Return a file that a mission received, with its bytes, by its handle.

        Raises:
            UsageError: the mission has received no such file, or the file is no longer stored.
            StateMissing: the store is unavailable.
        """
        from orchestrator.client.stores import mission_file

        return await mission_file(self._settings, mission_id, handle)

    async def known(self, mission_id: str, *, why: str) -> KnownMission:
        """Return the server's facts about a mission whose history cannot be replayed here."""
        mission = await self.connection.mission(mission_id)
        shown = mission.typed_search_attributes.get(AGENT) or ()
        (summary,) = await summaries(self.connection, [mission])
        return KnownMission(
            **dict(summary),
            finished_at=mission.close_time,
            task_queue=mission.task_queue,
            agents=(shown,) if isinstance(shown, str) else tuple(shown),
            unread=why,
        )

    async def waiting(self, *, requester: str | None = None) -> Waiting:
        """Return every card, question and pause, of every mission or those of one requester."""
        return await all_waiting(self.connection, requester=requester)

    def cards_of(self, workflow_id: str) -> AsyncGenerator[ConfirmationCard]:
        """Yield each card of a workflow's sagas as soon as it is open, until the workflow is over.

        The server pushes them, as for `MissionHandle.cards`.
        """
        return opened_cards(self.connection, workflow_id)

    async def confirmations(self) -> list[ConfirmationCard]:
        """Return every open card of every mission."""
        return list((await self.waiting()).cards)

    async def question(self, question_id: str) -> Question | None:
        """Return one question by its id; None when it is not open."""
        return await open_question(self.connection, question_id)

    async def confirmation(self, confirmation_id: str) -> ConfirmationCard:
        """Return one open card by its id.

        Raises:
            CardUnknown: the card is not open, or never existed.
        """
        return await open_card(self.connection, confirmation_id)

    async def approve(
        self, confirmation_id: str, digest: str, *, approver: str, again: SameAgain | None = None
    ) -> DecisionReceipt:
        """Approve the card with this digest, and with `again` later calls of its mission too."""
        return await self.decide(
            Approve(confirmation_id=confirmation_id, digest=digest, approver=approver, again=again)
        )

    async def revoke(self, rule_id: str, *, by: str, reason: str = "") -> AgainRecord:
        """Revoke the rule that an approval made for later calls; its earlier calls stand.

        `rule_id` is the id of the confirmation on which the rule was made.

        Raises:
            ConfirmationError: no rule is in force under this id.
            NoWorker: no worker is there to handle it.
        """
        workflow_id = await workflow_of(self.connection, rule_id)
        wanted = RevokeAgain(rule_id=rule_id, by=by, reason=reason)
        return await self.connection.update(
            workflow_id, names.REVOKE_UPDATE, wanted, AgainRecord, about=rule_id
        )

    async def reject(
        self, confirmation_id: str, *, reason: str, approver: str, then: Then = "replan"
    ) -> DecisionReceipt:
        """Reject an open card. See `MissionHandle.reject`."""
        return await self.decide(
            Reject(confirmation_id=confirmation_id, reason=reason, approver=approver, then=then)
        )

    async def decide(self, decision: Decision) -> DecisionReceipt:
        """Send a decision.

        Raises:
            ConfirmationError: the decision was refused; its code says why. Nothing changed.
            NoWorker: no worker is there to handle it.
        """
        return await send_decision(self.connection, decision)

    async def rollback_preview(self, mission_id: str) -> RollbackPreview:
        """Return what a rollback of a finished mission would cancel; nothing is started.

        Raises:
            UsageError: the mission still runs; cancelling it rolls it back.
        """
        return await preview_rollback(self.connection, self.get(mission_id).mission_id)

    async def rollback(
        self, mission_id: str, *, reason: str, approver: str | None = None
    ) -> RollbackReport:
        """Roll back a mission that is over, and wait until everything was tried.

        The call joins a running rollback. An interrupted rollback is resumed, even while the
        mission still runs, since the mission then waits for the rollback.

        Raises:
            UsageError: the mission still runs; cancelling it rolls it back. Or it succeeded, and
                `approver`, the person who decided on the rollback, is missing.
        """
        return await roll_back(self.connection, mission_id, reason=reason, approver=approver)

    async def rollback_report(self, mission_id: str) -> RollbackReport:
        """Return the state of a mission's rollback.

        Raises:
            UsageError: the mission has no rollback, or there is no such mission.
        """
        return await read_report(self.connection, mission_id)

    async def resolve(
        self, obligation_id: str, resolution: Resolution, *, operator: str, note: str = ""
    ) -> RollbackReport:
        """Decide on a parked obligation: retry it, note it as cancelled, or accept it.

        Raises:
            QuestionError: the obligation is not parked, or somebody else has decided.
            NoWorker: no worker is there, or none answered in time.
        """
        return await resolve_parked(
            self.connection,
            ResolveInput(
                obligation_id=obligation_id, resolution=resolution, operator=operator, note=note
            ),
        )

    async def purge_personal(self, mission_id: str, *, force: bool = False) -> tuple[str, ...]:
        """Remove the personal values that a mission brought, and its observations.

        The names of the fields are returned.

        Raises:
            UsageError: the mission or its rollback may still need the values, and `force` is False.
        """
        from orchestrator.client.retention import purge_mission

        with store_of(self._settings) as store, self.connection.explaining():
            return await purge_mission(
                self.temporal,
                store.vault,
                mission_id,
                observations=store.observations,
                workflow_of=store.workflow_of,
                force=force,
            )

    async def parked(self) -> list[ParkedRollback]:
        """Return every rollback that has parked an obligation and waits for an operator."""
        return await parked_rollbacks(self.connection)

    async def observed(self, *, since: datetime) -> "ObserveReport":
        """Return what a guard would have caught of observed calls since a time."""
        from orchestrator.client.observe_report import observe_report

        return await observe_report(self.connection, self._settings, since=since)

    async def sweep(self) -> SweepReport:
        """Start the rollback of every mission that ended without one, and with live obligations.

        Workers do the same every few minutes. A mission that was terminated in the last second may
        not show in the server's search yet.

        Raises:
            NoWorker: no worker is there to run the rollbacks.
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
