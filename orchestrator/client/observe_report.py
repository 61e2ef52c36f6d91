"""What a guard would have caught of observed calls, from the histories of their workflows.

Nothing is asked, called or changed: cards and ledgers are derived from what was sent and answered.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from pydantic import Field
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from orchestrator.activities.authority import governed
from orchestrator.activities.prepare_activities import draft_call, with_charge_limit
from orchestrator.adapters.temporal import raw_history
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.connection import Connection
from orchestrator.client.stores import store_of
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Spend, left_of, over_budget_with_fee, overspent
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.observed import OBSERVED, ObservedCall, ObservedRun, ObserveInput
from orchestrator.messages.tool_call import PreparedCall, PrepareInput
from orchestrator.planning.models import Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.settings import Settings, load_policy

_MOST_RUNS: Final = 1_000
MOST_CALLS: Final = 2_000
"""Limit of the calls that are read of one run."""
_MOST_FINDINGS: Final = 5_000
_AT_ONCE: Final = 8
_NO_ANSWER: Final = ObservedCall(
    outcome=ToolOutcome(kind="unknown", reason="its workflow has no answer to it")
)
_RUNNING: Final = WorkflowExecutionStatus.RUNNING
_STOPPED: Final = frozenset({WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT})

Kind = Literal["no_cancel", "twice", "overcharged", "unknown", "over_budget", "refused", "failed"]
HEADINGS: Final[Mapping[Kind, str]] = {
    "failed": "failures after effects",
    "no_cancel": "consequences without a cancel",
    "twice": "the same effect twice",
    "overcharged": "charged above the price",
    "unknown": "left unknown",
    "over_budget": "beyond the budget",
    "refused": "would have been refused",
}


class Caught(Record):
    """One finding: a call or a failure that a guard would have met otherwise."""

    kind: Kind
    mission_id: str = Field(description="of the mission or the saga")
    workflow_id: str
    call_id: str = Field(default="", description="empty: it is about the whole mission or saga")
    text: str


class WouldAsk(Record):
    """A card that would have been shown."""

    workflow_id: str
    card: ConfirmationCard
    standing: bool = Field(description="a standing approval of the policy would have answered it")


class ObserveReport(Record):
    """What was observed since a time, and what a guard would have caught of it."""

    mode: str = OBSERVED
    since: datetime
    workflows: int = 0
    calls: int = 0
    consequences: int = Field(default=0, description="calls that may have left an effect")
    charged: Spend = Field(default_factory=Spend)
    caught: tuple[Caught, ...] = ()
    asks: tuple[WouldAsk, ...] = ()
    unread: tuple[str, ...] = Field(default=(), description="what was not read, and why")

    @property
    def standing(self) -> int:
        """The number of cards under a standing approval."""
        return sum(ask.standing for ask in self.asks)


@dataclass
class ObservedCalls:
    """The observed calls of one mission or saga in one run of its workflow, in their order."""

    workflow: WorkflowExecution
    mission_id: str
    terms: ObservedRun
    calls: dict[int, tuple[ObserveInput, datetime, ObservedCall]] = field(default_factory=dict)
    """By the event that scheduled them."""

    def answer(self, scheduled_id: int, made: ObservedCall) -> None:
        """Note the outcome of a call of this run; of another activity nothing is noted."""
        if (sent := self.calls.get(scheduled_id)) is not None:
            wanted, at, _ = sent
            self.calls[scheduled_id] = (wanted, at, made)


async def observe_report(
    connection: Connection, settings: Settings, *, since: datetime
) -> ObserveReport:
    """Read the observed workflows that began since a time, the newest first."""
    runs: list[ObservedCalls] = []
    unread: list[str] = []
    query = f"{names.MODE_ATTRIBUTE} = 'observed' AND StartTime >= '{since.isoformat()}'"
    with connection.explaining():
        listed = connection.temporal.list_workflows(query, limit=_MOST_RUNS + 1)
        found = [one async for one in listed]
        for first in range(0, len(found), _AT_ONCE):
            page = found[first : first + _AT_ONCE]
            read = await asyncio.gather(*(_read(connection.temporal, one) for one in page))
            for of_workflow, why in read:
                runs += of_workflow
                unread += [why] if why else []
    if len(found) > _MOST_RUNS:
        unread.append(f"only the newest {_MOST_RUNS:,} workflows were read: ask for a shorter time")
    digests = {wanted.catalog_digest for run in runs for wanted, *_ in run.calls.values()}

    def read_catalogs() -> dict[str, Catalog]:
        """By digest, from the store where the documents have changed; '' is any other."""
        present = Catalog.load(*settings.specs, overlays=settings.overlays)
        known = {"": present, present.digest: present}
        with suppress(OrchestratorError, OSError), store_of(settings) as store:
            for digest in digests - set(known):
                with suppress(OrchestratorError):
                    known[digest] = store.catalogs.get(digest)
        return known

    catalogs = await asyncio.to_thread(read_catalogs)
    policy = load_policy(settings.mission_policy) or MissionPolicy()
    return report_of(runs, catalogs, since=since, policy=policy, unread=unread)


async def _read(client: Client, workflow: WorkflowExecution) -> tuple[list[ObservedCalls], str]:
    """Return the observed calls of one run of a workflow, and why some could not be read."""
    runs: dict[str, ObservedCalls] = {}
    why, count = "", 0
    try:
        for key, noted in (await workflow.memo()).items():
            if key.startswith(names.OBSERVED_MEMO) and noted is not None:
                mission_id = key.removeprefix(names.OBSERVED_MEMO)
                runs[mission_id] = ObservedCalls(
                    workflow, mission_id, ObservedRun.model_validate(noted)
                )
        async for event in raw_history.run_events(client, workflow.id, workflow.run_id):
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                scheduled = event.activity_task_scheduled_event_attributes
                if scheduled.activity_type.name != names.OBSERVE_CALL:
                    continue
                wanted = await raw_history.decoded(client, scheduled.input.payloads, ObserveInput)
                count += 1
                if count > MOST_CALLS:
                    why = f"{workflow.id}: only its first {MOST_CALLS:,} calls were read"
                    break
                if wanted is not None and wanted.mission_id in runs:
                    at = raw_history.time_of(event)
                    runs[wanted.mission_id].calls[event.event_id] = (wanted, at, _NO_ANSWER)
            elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                completed = event.activity_task_completed_event_attributes
                scheduled_id, payloads = completed.scheduled_event_id, completed.result.payloads
                for run in runs.values():
                    if scheduled_id in run.calls:
                        made = await raw_history.decoded(client, payloads, ObservedCall)
                        run.answer(scheduled_id, made or _NO_ANSWER)
            elif (failed := raw_history.failure_of(event)) is not None:
                scheduled_id, failure = failed
                refused = _NO_ANSWER
                if failure.HasField("application_failure_info"):
                    outcome = ToolOutcome(kind="rejected", reason=failure.message)
                    refused = ObservedCall(outcome=outcome)
                for run in runs.values():
                    run.answer(scheduled_id, refused)
    except (OrchestratorError, ValueError) as error:
        why = f"{workflow.id}: {error}"
    return list(runs.values()), why


def report_of(
    runs: Sequence[ObservedCalls],
    catalogs: Mapping[str, Catalog],
    *,
    since: datetime,
    policy: MissionPolicy,
    unread: Sequence[str] = (),
) -> ObserveReport:
    """Return the report on observed runs.

    A mission or saga is examined over all its runs; a call that a reset copied counts once.
    """
    caught: list[Caught] = []
    asks: list[WouldAsk] = []
    effects: dict[tuple[str, str], dict[tuple[str, str], tuple[ObservedCalls, Obligation]]]
    effects = defaultdict(dict)
    calls, consequences = 0, 0
    others: set[str] = set()
    seen: set[tuple[str, str]] = set()
    reviews: dict[str, _Review] = {}
    for run in sorted(runs, key=lambda one: one.workflow.start_time):
        review = reviews.setdefault(run.mission_id, _Review(run, policy))
        review.run = run
        for wanted, at, made in run.calls.values():
            identity = wanted.call_id, str(made.outcome.answered_at or at)
            is_under_way = made is _NO_ANSWER and run.workflow.status is _RUNNING
            if identity in seen or is_under_way:
                continue
            seen.add(identity)
            catalog = catalogs.get(wanted.catalog_digest) or catalogs.get("")
            if catalog is None or wanted.tool not in catalog.tools:
                others.add(f"{wanted.tool} is in no document here: its calls were not examined")
                continue
            if wanted.catalog_digest not in catalogs:
                others.add(f"{wanted.tool} was called by other documents than those here")
            review.add(wanted, at, made, catalog)
            calls += 1
            consequences += catalog.tool(wanted.tool).is_side_effect
            if made.obligation is not None and made.outcome.kind != "rejected":
                effects[wanted.tool, review.meaning][identity] = (run, made.obligation)
    for review in reviews.values():
        caught += review.ended()
        asks += review.asks
    for (tool, _), same in effects.items():
        (_, first), *again = same.values()
        for run, effect in again:
            text = f"{tool} had been sent with the same arguments, as {first.obligation_id}"
            caught.append(_caught("twice", run, text, call_id=effect.obligation_id))
    if len(caught) > _MOST_FINDINGS or len(asks) > _MOST_FINDINGS:
        others.add(f"only the first {_MOST_FINDINGS:,} findings of each list are shown")
    return ObserveReport(
        since=since,
        workflows=len({(run.workflow.id, run.workflow.run_id) for run in runs}),
        calls=calls,
        consequences=consequences,
        charged=Spend.total(review.ledger.spent for review in reviews.values()),
        caught=tuple(caught[:_MOST_FINDINGS]),
        asks=tuple(asks[:_MOST_FINDINGS]),
        unread=(*unread, *sorted(others)),
    )


class _Review:
    """Goes through the calls of one run as a guard would have."""

    def __init__(self, run: ObservedCalls, policy: MissionPolicy) -> None:
        self.run, self._policy = run, policy
        """The newest run."""
        self._rules = run.terms.policy.spending.combined_with(policy.spending)
        self._seen: list[Observation] = []
        self._caught: list[Caught] = []
        self.ledger = Ledger()
        self.asks: list[WouldAsk] = []
        self.meaning = ""
        """Of the last call."""

    def add(self, wanted: ObserveInput, at: datetime, made: ObservedCall, catalog: Catalog) -> None:
        """Examine the next call."""
        prepared = self._prepared(wanted, at, catalog)
        self.meaning = prepared.meaning or str(sorted(wanted.arguments.items(), key=str))
        if prepared.problems:
            self._note("refused", f"{wanted.tool}: {'; '.join(prepared.problems)}", wanted)
        if prepared.card is not None:
            standing = prepared.standing_approver is not None
            workflow = self.run.workflow.id
            self.asks.append(WouldAsk(workflow_id=workflow, card=prepared.card, standing=standing))
        price = prepared.price if prepared.spends else None
        full = over_budget_with_fee(self.run.terms.budget, self.ledger.spent, price, prepared.fee)
        if full is not None:
            self._note("over_budget", f"{wanted.tool}: {full}", wanted)
        effect, outcome = made.obligation, made.outcome
        if effect is not None and effect.cancel_tool is None and outcome.kind != "rejected":
            self._note("no_cancel", f"{wanted.tool} cannot be cancelled by any tool", wanted)
        if outcome.kind == "unknown" and catalog.tool(wanted.tool).is_side_effect:
            self._note("unknown", f"{wanted.tool}: {outcome.why}", wanted)
        self._seen.append(
            Observation(
                step=len(self._seen) + 1,
                tool=wanted.tool,
                arguments=wanted.arguments,
                outcome=outcome.kind,
                side_effect=effect is not None,
                body=outcome.body,
                price=outcome.price,
                at=outcome.answered_at,
            )
        )
        if effect is None:
            self.ledger = made.entered(self.ledger, at=at)
            return
        approved = prepared.limit.approved if prepared.limit is not None else None
        expected = effect.model_copy(update={"approved_price": approved})
        ledger = self.ledger.sending(expected, None)
        self.ledger = ledger.answered(
            expected, None, outcome, at=outcome.answered_at or at, limit=prepared.limit
        )
        charge = self.ledger.obligation(expected.obligation_id).overcharge
        if charge is not None:
            self._note(
                "overcharged", f"{wanted.tool}: {charge.charged} for {charge.approved}", wanted
            )

    def _prepared(self, wanted: ObserveInput, at: datetime, catalog: Catalog) -> PreparedCall:
        """Return the call as a guard would have prepared it, or the reasons against it."""
        tool, terms = catalog.tool(wanted.tool), self.run.terms
        arguments = {name: wanted.key for name in tool.reference_inputs} | wanted.arguments
        problems = list(check_arguments(catalog, tool, arguments))
        if wanted.agent is not None and not wanted.agent.admits(tool.name, tool.domain):
            problems.append(wanted.agent.refusal(tool.name))
        if problems:
            return PreparedCall(problems=tuple(problems))
        order = (Order(tools=(wanted.tool,)),)
        asked = PrepareInput(
            **wanted.ref,
            arguments=arguments,
            observations=tuple(self._seen),
            policy=terms.policy,
            requester=terms.requester,
            now=at,
            reason=wanted.reason,
            orders=order,
            covered=order,
            budget=terms.budget,
            budget_left=None if terms.budget is None else left_of(terms.budget, self.ledger.spent),
            spent=self.ledger.spent,
        )
        with suppress(OrchestratorError):
            prepared = governed(
                draft_call(asked, catalog, tool, self._rules), asked, self._policy, None
            )
            return with_charge_limit(prepared, asked, self._rules)
        return PreparedCall()

    def ended(self) -> Iterator[Caught]:
        """Yield the findings, with the rollback that a failure would have caused."""
        yield from self._caught
        terms, live = self.run.terms, self.ledger.compensation_order()
        over = overspent(terms.budget, self.ledger.spent)
        if over and not any(one.kind == "over_budget" for one in self._caught):
            yield _caught("over_budget", self.run, f"it {over}")
        why = terms.failed
        status = self.run.workflow.status
        if not why and not terms.ended and status is not None and status in _STOPPED:
            why = f"its workflow was {status.name.lower().replace('_', ' ')}"
        if not (why and live):
            return
        back = [f"{o.title or o.tool} with {o.cancel_tool}" for o in live if o.cancel_tool]
        stay = [o.title or o.tool for o in live if not o.cancel_tool]
        doubt = sum(o.state is ObligationState.INTENDED for o in live)
        parts = [
            f"a rollback would have cancelled {', '.join(back)}" if back else "",
            f"nothing could have cancelled {', '.join(stay)}" if stay else "",
            f"{doubt} of them may not exist" if doubt else "",
        ]
        yield _caught("failed", self.run, f"{why}: {'; '.join(filter(None, parts))}")

    def _note(self, kind: Kind, text: str, wanted: ObserveInput) -> None:
        self._caught.append(_caught(kind, self.run, text, call_id=wanted.call_id))


def _caught(kind: Kind, run: ObservedCalls, text: str, *, call_id: str = "") -> Caught:
    return Caught(
        kind=kind,
        mission_id=run.mission_id,
        workflow_id=run.workflow.id,
        call_id=call_id,
        text=text,
    )
