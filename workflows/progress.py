"""How far a leg has come: its state changes here alone, and is shown whenever it does."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import AskedCall
    from orchestrator.confirmation.models import DecisionRecord
    from orchestrator.core.budget import Usage
    from orchestrator.core.limits import LimitReached
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegState, LegStatus, LegWaiting
    from orchestrator.messages.leg_progress import CallMade, LegProgress, SelectedTools
    from orchestrator.messages.leg_sizes import with_called
    from orchestrator.messages.model_trouble import ModelChange, ModelState
    from orchestrator.messages.news import LegWait, wait_of
    from orchestrator.messages.shared_limits import LegShare
    from orchestrator.messages.step import StepRecord
    from orchestrator.planning.models import (
        AnswerTable,
        CallTool,
        Fact,
        Observation,
    )
    from orchestrator.routing.selection import Selection
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.orders import WhenRead
    from orchestrator.saga.outcome import FollowUp
    from workflows import telling, ui
    from workflows.held_up import PATCH as HELD_UP
    from workflows.keeping import Keeping
    from workflows.leg_news import Teller
    from workflows.leg_view import facts_of


_MOST_CHANGES = 20
_MOST_FORWARDED = 60
"""Names of tools that stay shown: they travel with each step."""
_MOST_ASKED = 50
"""Of what people were asked in a leg: it travels with each of its runs."""
_MOST_STEPS: Final = 100
"""That are shown one by one: the records of all of them travel with each of its runs."""
_MOST_FACTS: Final = 50
"""That a leg hands on: they travel with the messages of those that depend on it."""
_MOST_TOLD: Final = 20
_MOST_AT_ONCE: Final = 50
"""Calls that are shown of the steps before."""
_LARGEST: Final = 500_000
"""Characters of what came of a leg that may take on another consequence. The server takes four
times that in one message, and its mission's result tells of each twice."""


class Progress:
    """The state of one leg, from its first step to its end."""

    def __init__(self, leg: LegInput, waits_for: Callable[[], LegWaiting]) -> None:
        """Go on from the state of the run before, or from an empty one.

        Args:
            leg: what the leg was started or continued with.
            waits_for: what a person has to do for it, asked whenever it is drawn.
        """
        self._leg = leg
        self._waits_for = waits_for
        self._selection: Selection | None = None
        self._selected: SelectedTools | None = None
        self._calls: dict[str, CallMade] = {}
        """Those of this step and the one before that were sent: only shown."""
        self._usage: Usage | None = None
        """What planning the step took, until its first record tells it."""
        self._teller = Teller(waits_for)
        self._shown: tuple[LegStatus, LegWait | None] | None = None
        self.keeping: Keeping | None = None
        """What workers keep of it; None: every message carries all of it."""
        self.is_swift = False
        """Whether its steps are thought through within its own workflow tasks."""

    @property
    def leg(self) -> LegInput:
        """The leg as it stands: what would continue it in a new run."""
        return self._leg

    @property
    def state(self) -> LegState:
        """All that came of it so far."""
        return self._leg.state

    # -- its steps --------------------------------------------------------------------------------

    def begin_step(self) -> None:
        """Count one more step; what follows belongs to it."""
        self._update(step=self.state.step + 1, part=0)
        self._usage = None
        self._calls = dict([*self._calls.items()][-_MOST_AT_ONCE:])

    def begin_part(self, part: int) -> None:
        """Go to one of the calls that the step makes at once; what follows belongs to it."""
        self._update(part=part)

    def forward(self, selection: Selection) -> None:
        """Note the tools that this step may use, and later ones too where they stay shown."""
        self._selection = selection
        self._selected = SelectedTools(
            step=self.state.step,
            tools=selection.tools,
            band=selection.band,
            catalog_size=selection.catalog_size,
        )
        if self.leg.leg.agent.tool_list == "growing":
            shown = dict.fromkeys([*self.state.forwarded, *selection.tools])
            self._update(forwarded=tuple(shown)[-_MOST_FORWARDED:])

    def go_on_from(self, conversation: str) -> None:
        """Note where what was said to decide this step is kept; without it, what was before."""
        if conversation:
            self._update(conversation=conversation)

    def observe(self, call: CallTool, *, outcome: str, **seen: object) -> None:
        """Keep what this step saw, for the planner of the next."""
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
        most = self.leg.leg.agent.max_repeats
        repeats, told = self.state.repeats.after(observation, most=most)
        observation = observation.model_copy(update={"repeated": told})
        if (sent := self._calls.get(self.leg.call_id)) is not None:
            came = {"outcome": outcome, "error": observation.error}
            self._calls[sent.call_id] = sent.model_copy(update=came)
        self._update(observations=(*self.state.observations, observation), repeats=repeats)

    def retract(self, why: str, **seen: object) -> None:
        """Let what this step saw be a refusal: what it did was undone, and is no success."""
        *before, last = self.state.observations
        refused = {"outcome": "refused", "error": why, "body": None, "body_ref": None, **seen}
        undone = last.model_copy(update=refused)
        self._update(observations=(*before, undone))

    def kept(self, key: str, count: int) -> None:
        """Let go of the oldest observations: they are kept under this key.

        Args:
            key: of all that it has seen up to them.
            count: how many that were.
        """
        seen = self.state.observations
        known = self.leg.model_copy(
            update={"state": self.state.model_copy(update={"observations": seen[:count]})}
        )
        facts = facts_of(known)
        self._update(
            past=key,
            observations=seen[count:],
            facts=facts[-_MOST_FACTS:],
            facts_before=self.state.facts_before + max(0, len(facts) - _MOST_FACTS),
        )

    def tell(self, sentence: str) -> None:
        """Keep that the planner was told of a refusal."""
        self._update(told=(*self.state.told, sentence)[-_MOST_TOLD:])

    def hold_up(self, why: str) -> None:
        """Show that it waits for what workers keep of its mission, or no longer does."""
        self._update(held_up=why)
        if self.is_swift:
            self.show(self.state.status)
            return
        if workflow.patched(HELD_UP):
            ui.show_leg_status(self.state.status, self._waits_for())
        self.draw()

    def record(
        self, did: str, outcome: str, error: str | None = None, *, at: datetime | None = None
    ) -> None:
        """Keep what this step did, for people to read."""
        assert self._selection is not None
        record = StepRecord(
            step=self.state.step,
            part=self.state.part,
            tools_forwarded=self._selection.tools,
            catalog_size=self._selection.catalog_size,
            band=self._selection.band,
            did=did,
            outcome=outcome,
            error=error,
            at=at or workflow.now(),
            usage=self._usage,
        )
        self._usage = None
        telling.step_done(self._leg, record)
        self._add(record)
        self.show(self.state.status)

    def _add(self, record: StepRecord) -> None:
        """With the record of one more step; a leg without `keeping` has all, as it always had."""
        steps = (*self.state.steps, record)
        over = max(0, len(steps) - _MOST_STEPS) if self.keeping is not None else 0
        self._update(
            steps=steps[over:],
            steps_before=self.state.steps_before + over,
            called=with_called(self.state.called, steps[:over]),
        )

    # -- what came of them ------------------------------------------------------------------------

    def write(self, ledger: Ledger) -> None:
        """Keep a newer ledger, and what it says is spent."""
        self._update(ledger=ledger, spend=ledger.spent)

    def count_call(self, tool: str, part: int | None = None) -> None:
        """Count a call that is about to be sent, of this part of the step or of another."""
        self._update(tool_calls=self.state.tool_calls + 1)
        part = self.state.part if part is None else part
        call_id = names.call_id(self.leg.mission_id, self.leg.leg.leg_id, self.state.step, part)
        self._calls[call_id] = CallMade(call_id=call_id, tool=tool)

    def begin(self, at: datetime) -> None:
        """Note when it began, in its first run."""
        self._update(began_at=self.state.began_at or at)

    def share_limits(self, share: LegShare) -> None:
        """Keep its share of the limits of its mission."""
        self._update(share=share)

    def reach(self, limit: LimitReached) -> None:
        """Keep the limit that ends it."""
        self._update(limit=limit)

    def count_usage(self, usage: Usage | None) -> None:
        """Count what a model was asked and answered, for the leg and for the step it planned."""
        self._update(usage=self.state.usage.plus(usage))
        if usage is not None:
            self._usage = usage.plus(self._usage)

    def spend_on_answers(self) -> None:
        """Count a step whose answers were of no use to the model that gave them."""
        model = self.state.model
        self._update(model=model.model_copy(update={"bad_answers": model.bad_answers + 1}))

    def ask_about_model(self) -> int:
        """Count one more question about what follows useless answers; which one it is."""
        number = self.state.model.questions + 1
        self._update(model=self.state.model.model_copy(update={"questions": number}))
        return number

    def renew_model(self) -> None:
        """Let the models of the leg be asked as if none had given a useless answer."""
        renewed = {"bad_answers": 0, "passed_over": ()}
        self._update(model=self.state.model.model_copy(update=renewed))

    def change_model(self, name: str, *, why: str, by: str = "", passing_over: str = "") -> None:
        """Go on with another model, and keep why.

        Args:
            name: of the model; empty for the worker's default.
            why: what is wrong with the one before.
            by: who decided; empty for the list of the agent's profile.
            passing_over: the model that is not asked again of itself, if one is not.
        """
        before = self.state.model
        change = ModelChange(model=name, why=why, by=by, at=workflow.now())
        over = (*before.passed_over, passing_over) if passing_over else before.passed_over
        changed = ModelState(
            name=name,
            passed_over=() if by else over,
            questions=before.questions,
            changes=(*before.changes, change)[-_MOST_CHANGES:],
        )
        self._update(model=changed)

    def remember(self, decision: DecisionRecord) -> None:
        """Keep what was decided about a call."""
        self._update(decisions=(*self.state.decisions, decision))

    def remember_asked(self, asked: AskedCall) -> None:
        """Keep what came of asking people about a call; of one call the last that is known."""
        others = [a for a in self.state.asked if a.confirmation_id != asked.confirmation_id]
        self._update(asked=(*others, asked)[-_MOST_ASKED:])

    def learn(self, answers: JsonObject) -> None:
        """Keep what a person answered."""
        repeats = self.state.repeats.afresh()
        self._update(answers={**self.state.answers, **answers}, repeats=repeats)

    def discover(self, tools: tuple[str, ...]) -> None:
        """Keep the tools that a search found, beside those of earlier ones."""
        known = self.state.discovered
        self._update(discovered=(*known, *(tool for tool in tools if tool not in known)))

    def learn_facts(self, leg_id: str, facts: tuple[Fact, ...]) -> None:
        """Keep what another leg found, that this one handed a part of its goal to."""
        self._update(handed_to=(*self.state.handed_to, leg_id))
        self._leg = self._leg.model_copy(update={"facts": (*self._leg.facts, *facts)})

    def hold_spending(self, held: bool) -> None:
        """Keep whether another leg's overcharge is to be decided on first."""
        self._leg = self._leg.model_copy(update={"spending_held": held})

    def lack_of_room(self) -> str | None:
        """Why no other consequence can be noted; None while there is room.

        What a leg carries goes with each of its runs and its result, which have to be sent.
        """
        if self.keeping is None:
            return None
        size = len(self.state.model_dump_json())
        if size <= _LARGEST:
            return None
        return (
            f"this leg has noted {size / 1000:,.0f} kB of what it did, and no more than "
            f"{_LARGEST / 1000:,.0f} kB are carried on: it can look things up and end, and the "
            "rest belongs into another mission"
        )

    def as_watched(self) -> LegProgress:
        """What those see of it who watch."""
        state = self.state
        return LegProgress(
            agent=self.leg.leg.agent.name,
            goal=self.leg.leg.goal,
            status=state.status,
            selection=self._selected,
            calls=tuple(self._calls.values()),
            steps=state.steps,
            steps_before=state.steps_before,
            decisions=state.decisions,
            ledger=state.ledger,
            waiting=self._waits_for(),
            summary=state.summary,
            error=state.error,
        )

    # -- what is shown of it ----------------------------------------------------------------------

    def end(
        self,
        status: LegStatus,
        *,
        summary: str = "",
        error: str | None = None,
        table: AnswerTable | None = None,
        unproved: str = "",
        unheld: tuple[str, ...] = (),
        follow_ups: tuple[FollowUp, ...] = (),
        conditions: tuple[WhenRead, ...] = (),
    ) -> None:
        """Keep how it ended."""
        told = {
            "unproved": unproved,
            "unheld": unheld,
            "follow_ups": follow_ups,
            "conditions": conditions,
            "held_up": "",
        }
        self._update(summary=summary, error=error, table=table, **told)
        telling.leg_ended(self._leg, status)
        self.show(status)

    def show(self, status: LegStatus) -> None:
        """Move to this status, and show it."""
        waiting = self._waits_for()
        shown = (status, wait_of(waiting))
        is_new = status is not self.state.status or not self.state.steps
        if self.is_swift:
            # Its mission has started it with the attributes of one that works.
            is_new = shown != (self._shown or (LegStatus.RUNNING, None))
        if is_new:
            ui.show_leg_status(status, waiting)
        self._shown = shown
        self._update(status=status)
        self.draw()

    def draw(self) -> None:
        """Show what has changed, of a card for instance, and tell the mission what it waits for."""
        waiting = self._waits_for()
        ui.draw_leg(self._leg, waiting)
        if self.is_swift:
            self._teller.tell_later(self._leg, waiting)
        else:
            self._teller.tell(self._leg, waiting)

    def _update(self, **changes: object) -> None:
        state = self.state.model_copy(update=changes)
        self._leg = self._leg.model_copy(update={"state": state})
