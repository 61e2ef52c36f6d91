"""The state of a leg: only this module changes it, and each change is shown."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import AskedCall
    from orchestrator.confirmation.models import DecisionRecord
    from orchestrator.core.budget import Money, Spend, Usage
    from orchestrator.core.record import JsonObject, shared_fields
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import ModelChange, ModelState
    from orchestrator.messages.leg import (
        Acting,
        CallMade,
        LegInput,
        LegProgress,
        LegState,
        LegStatus,
        LegWaiting,
        OpenCard,
    )
    from orchestrator.messages.mission import with_called
    from orchestrator.messages.step import SelectedTools, StepRecord
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import AnswerTable, CallTool, Fact, Observation, StepGoal
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.orders import Effect, WhenRead, effects_of
    from orchestrator.saga.outcome import FollowUp
    from orchestrator.workflows import logs
    from orchestrator.workflows.leg_view import facts_of
    from orchestrator.workflows.mission_budget import MissionBudget
    from orchestrator.workflows.payload_refs import PayloadRefs


_ENDS: Final = frozenset(
    {LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED, LegStatus.SKIPPED}
)
_MOST_CHANGES = 20
_MOST_FORWARDED = 60
"""Names of tools that stay shown: each step carries them."""
_MOST_ASKED = 50
"""The most questions to people stored per leg: each of its runs carries them."""
_MOST_STEPS: Final = 100
"""The most step records listed one by one: each run of the leg carries all of them."""
_MOST_FACTS: Final = 50
"""The most facts that a leg passes on: the messages of its dependents carry them."""
_MOST_AT_ONCE: Final = 50
"""Calls of previous steps that stay shown."""
_SHORT: Final = 24_000
"""Characters of observations passed whole to a local activity: no history holds its input."""
_PASSING: Final = {"acting", "card", "question", "pause"}
"""State that a leg drops once its step is done."""
_LARGEST: Final = 500_000
"""Characters of a leg's state up to which the leg may have another effect.

The server accepts four times that in one message, and the mission's result states each effect
twice.
"""


class Progress:
    """The state of one leg, from its first step to its end."""

    def __init__(
        self,
        leg: LegInput,
        changed: Callable[[], None],
        budget: MissionBudget,
        ledger: Callable[[], Ledger],
    ) -> None:
        """Continue from the state of the previous run, or from an empty one."""
        self.leg = leg
        """The leg with its current state, from which a new run could continue."""
        self.budget = budget
        self.mission_ledger = ledger
        self._changed = changed
        self._selected: SelectedTools | None = None
        self._seen = sum(len(one.model_dump_json()) for one in leg.state.observations)
        """Characters of the observations that are not in the store."""
        self._calls: dict[str, CallMade] = {}
        """Calls sent in this step and the previous one, for display only."""
        self._usage: Usage | None = None
        """Usage of planning the step, until its first record reports it."""
        self._left_off: Acting | None = leg.state.acting
        """The decision that was being carried out when the leg ended."""
        self.is_suspended = False
        """True if a new run continues from the state, which is frozen."""
        self.payload_refs = PayloadRefs()
        """Parts of the leg that the store has, so that no message carries them again."""

    @property
    def state(self) -> LegState:
        """Return the leg's current state."""
        return self.leg.state

    @property
    def is_short(self) -> bool:
        """True if all observations fit into one message: none of them is in the store."""
        return not self.state.past and self._seen <= _SHORT

    def repeated(self, prepared: PreparedCall) -> Effect | None:
        """Return the effect of the mission that a call repeats, unless its card says so already."""
        new, call = prepared.obligation, prepared.call
        if new is None or call is None or call.repeats:
            return None
        same = self.mission_ledger().repeated_by(new)
        return None if same is None else effects_of(Ledger(obligations=(same,)))[0]

    @property
    def budget_left(self) -> Money | None:
        """Return the rest of the mission's budget; None: no budget."""
        return self.budget.left(self.leg.leg.leg_id, self.state.taken)

    @property
    def taken(self) -> Spend:
        """Return the leg's share of the budget, with the unpriced calls of all legs."""
        unpriced = self.budget.unpriced(self.leg.leg.leg_id, self.state.taken)
        return self.state.taken.model_copy(update={"unpriced": unpriced})

    @property
    def waiting(self) -> LegWaiting:
        """Return the leg's wait: for a person, a model provider, or missing state."""
        state = self.state
        return LegWaiting(
            card=None if state.card is None else state.card.card,
            question=state.question,
            pause=state.pause,
            stalled=state.stalled,
        )

    @property
    def is_under_way(self) -> bool:
        """True if the leg has not ended."""
        return self.state.status not in _ENDS

    # -- steps ------------------------------------------------------------------------------------

    def begin_step(self) -> None:
        """Begin the next step; the changes that follow belong to it."""
        self.update(step=self.state.step + 1, part=0)
        self._usage = None
        self._calls = dict([*self._calls.items()][-_MOST_AT_ONCE:])

    def begin_part(self, part: int) -> None:
        """Move to one of the step's concurrent calls; the changes that follow belong to it."""
        self.update(part=part)

    def forward(self, selection: SelectedTools) -> None:
        """Note the tools that this step may use; a growing tool list keeps them available."""
        self._selected = selection
        self._changed()
        if self.leg.leg.agent.tool_list == "growing":
            shown = dict.fromkeys([*self.state.forwarded, *selection.tools])
            self.update(forwarded=tuple(shown)[-_MOST_FORWARDED:])

    @property
    def written_call(self) -> CallTool | None:
        """The call of a written workflow that is being carried out, if one is."""
        acting = self.state.acting
        decision = None if acting is None else acting.planned.decision
        if isinstance(decision, StepGoal):
            return CallTool(tool="", step_id=decision.step_id)
        return decision if isinstance(decision, CallTool) and decision.step_id else None

    def observe(self, call: CallTool, *, outcome: str, **seen: object) -> None:
        """Store the step's observation, for the planner of the next step."""
        if (written := self.written_call) is not None:
            seen = {"step_id": written.step_id, "replaces": written.replaces, **seen}
        observation = Observation.model_validate(
            {
                "step": self.state.step,
                "part": self.state.part,
                "tool": call.tool,
                "arguments": call.arguments,
                "outcome": outcome,
                **seen,
            }
        )
        repeats = self.state.repeats
        if written is None:  # a written workflow limits its own repetitions
            most = self.leg.leg.agent.max_repeats
            repeats, reported = repeats.after(observation, most=most)
            observation = observation.model_copy(update={"repeated": reported})
        if (sent := self._calls.get(self.leg.call_id)) is not None:
            came = {"outcome": outcome, "error": observation.error}
            self._calls[sent.call_id] = sent.model_copy(update=came)
        self._seen += len(observation.model_dump_json())
        self.update(observations=(*self.state.observations, observation), repeats=repeats)
        failed = self.state.unmade
        is_over = failed is not None and (
            observation.side_effect or observation.tool == failed.tool
        )
        if outcome == "succeeded" and is_over:
            self.update(unmade=None)

    def retract(self, why: str, **seen: object) -> None:
        """Turn the step's observation into a refusal, because its effect was cancelled."""
        *before, last = self.state.observations
        refused = {"outcome": "refused", "error": why, "body": None, "body_ref": None, **seen}
        cancelled = last.model_copy(update=refused)
        self.update(observations=(*before, cancelled))

    def kept(self, key: str, count: int) -> None:
        """Drop the oldest observations, which are stored under this key."""
        seen = self.state.observations
        known = self.leg.model_copy(
            update={"state": self.state.model_copy(update={"observations": seen[:count]})}
        )
        facts = facts_of(known)
        self.update(
            past=key,
            observations=seen[count:],
            facts=facts[-_MOST_FACTS:],
            facts_before=self.state.facts_before + max(0, len(facts) - _MOST_FACTS),
        )

    def stall(self, why: str) -> None:
        """Show that the leg waits for state that workers are missing; empty: no longer waiting."""
        self.update(stalled=why)

    def act_further(self, **changes: object) -> None:
        """Store how far the decision is carried out."""
        if self.state.acting is not None:
            self.update(acting=self.state.acting.model_copy(update=changes))

    def show_card(self, card: OpenCard | None) -> None:
        """Store and show the card that waits for a decision."""
        if card != self.state.card:
            self.update(card=card)

    def record(
        self, did: str, outcome: str, error: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Store a record of the step's action, for people to read."""
        selected, written = self._selected, self.written_call
        record = StepRecord(
            step=self.state.step,
            step_id=written.step_id if written is not None else "",
            part=self.state.part,
            tools_forwarded=selected.tools if selected else (),
            catalog_size=selected.catalog_size if selected else 0,
            band=selected.band if selected else "",
            did=did,
            outcome=outcome,
            error=error,
            at=at or workflow.now(),
            usage=self._usage,
        )
        self._usage = None
        logs.step_done(self.leg, record)
        steps = (*self.state.steps, record)
        over = max(0, len(steps) - _MOST_STEPS)  # of the oldest records only the count remains
        self.update(
            steps=steps[over:],
            steps_before=self.state.steps_before + over,
            called=with_called(self.state.called, steps[:over]),
        )
        self.show(self.state.status)

    # -- results of steps -------------------------------------------------------------------------

    def write(self, ledger: Ledger) -> None:
        """Store a newer ledger, and its spending."""
        self.update(ledger=ledger, spend=ledger.spent)

    def count_call(self, tool: str, part: int | None = None) -> None:
        """Count a call that is about to be sent, of this part of the step or of another."""
        self.update(tool_calls=self.state.tool_calls + 1)
        part = self.state.part if part is None else part
        call_id = names.call_id(self.leg.mission_id, self.leg.leg.leg_id, self.state.step, part)
        self._calls[call_id] = CallMade(call_id=call_id, tool=tool)

    def begin(self, at: datetime) -> None:
        """Note when the leg began, in its first run."""
        self.update(began_at=self.state.began_at or at)

    def count_usage(self, usage: Usage | None) -> None:
        """Count the model usage of a step, for the leg and for the step's record."""
        self.update(usage=self.state.usage.plus(usage))
        if usage is not None:
            self._usage = usage.plus(self._usage)

    def change_model(self, name: str, *, why: str, by: str = "", passing_over: str = "") -> None:
        """Continue with another model, and store the reason."""
        before = self.state.model
        change = ModelChange(model=name, why=why, by=by, at=workflow.now())
        over = (*before.passed_over, passing_over) if passing_over else before.passed_over
        changed = ModelState(
            name=name,
            passed_over=() if by else over,
            changes=(*before.changes, change)[-_MOST_CHANGES:],
        )
        self.update(model=changed)

    def remember(self, decision: DecisionRecord) -> None:
        """Store the decision about a call."""
        self.update(decisions=(*self.state.decisions, decision))

    def remember_asked(self, asked: AskedCall) -> None:
        """Store the outcome of asking people about a call; for each call only the latest."""
        others = [a for a in self.state.asked if a.confirmation_id != asked.confirmation_id]
        self.update(asked=(*others, asked)[-_MOST_ASKED:])

    def learn_facts(self, leg_id: str, facts: tuple[Fact, ...]) -> None:
        """Store the facts of another leg that this leg handed a part of its goal to."""
        self.update(handed_to=(*self.state.handed_to, leg_id))
        self.leg = self.leg.model_copy(update={"facts": (*self.leg.facts, *facts)})

    def full_reason(self) -> str | None:
        """Return why no other effect can be noted; None while there is room.

        Each run of a leg and its result carry the whole state, and have to be sent.
        """
        size = len(self.state.model_dump_json(exclude=_PASSING))
        if size <= _LARGEST:
            return None
        return (
            f"this leg has noted {size / 1000:,.0f} kB of what it did, and no more than "
            f"{_LARGEST / 1000:,.0f} kB are carried on: it can look things up and end, and the "
            "rest belongs into another mission"
        )

    def as_watched(self) -> LegProgress:
        """Return the leg's progress as watchers see it."""
        return LegProgress(
            **shared_fields(self.state, LegProgress),
            agent=self.leg.leg.agent.name,
            goal=self.leg.leg.goal,
            selection=self._selected,
            calls=tuple(self._calls.values()),
            waiting=self.waiting,
        )

    def as_left_off(self) -> LegInput:
        """Return the leg with the decision that it was carrying out when it ended."""
        waits = {"acting": self._left_off, "card": None, "question": None, "pause": None}
        return self.leg.model_copy(update={"state": self.state.model_copy(update=waits)})

    # -- status -----------------------------------------------------------------------------------

    def end(
        self,
        status: LegStatus,
        *,
        summary: str = "",
        error: str | None = None,
        table: AnswerTable | None = None,
        unproved: str = "",
        unverified_ids: tuple[str, ...] = (),
        follow_ups: tuple[FollowUp, ...] = (),
        conditions: tuple[WhenRead, ...] = (),
        outputs: JsonObject | None = None,
    ) -> None:
        """Store the leg's end."""
        changes: dict[str, object] = {
            "unproved": unproved,
            "unverified_ids": unverified_ids,
            "follow_ups": follow_ups,
            "conditions": conditions,
            "outputs": outputs or {},
            "stalled": "",
        }
        changes |= {"acting": None, "card": None, "question": None, "pause": None}
        self._left_off = self.state.acting
        self.update(summary=summary, error=error, table=table, **changes)
        logs.leg_ended(self.leg, status)
        self.show(status)

    def show(self, status: LegStatus) -> None:
        """Move to this status, and show it."""
        self.update(status=status)

    def update(self, **changes: object) -> None:
        """Store these fields of the state, and show the change."""
        if self.is_suspended:
            return
        state = self.state.model_copy(update=changes)
        self.leg = self.leg.model_copy(update={"state": state})
        self._changed()
