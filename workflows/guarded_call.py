"""One call of a saga: prepared, confirmed, recorded, sent and settled, perhaps after a repair."""

from collections.abc import Awaitable, Callable
from typing import Final

from pydantic import JsonValue
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import ToolNotFound
    from orchestrator.messages.leg import LegInput, LegStatus
    from orchestrator.planning.models import CallTool
    from orchestrator.saga.ledger import Ledger
    from orchestrator.workflows.approval import Approvals
    from orchestrator.workflows.call import Caller
    from orchestrator.workflows.failures import LegFailed, LegSkipped, first_words
    from orchestrator.workflows.mission_budget import MissionBudget
    from orchestrator.workflows.mission_limits import LegLimits, MissionLimits
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.questions import Questions
    from orchestrator.workflows.scope import work_for


class ToolCallFailed(ApplicationError):
    """A call was not made, or did not succeed; if uncaught, all calls of its saga are cancelled."""

    def __init__(
        self, tool: str, outcome: str, reason: str, *, hint: str = "", body: JsonValue = None
    ) -> None:
        """Describe the failure of the call.

        Args:
            tool: its name.
            outcome: rejected (by the provider), refused (by a person, a policy or the budget),
                invalid (its arguments), expired (nobody decided in time), unknown (it may have had
                its effect: the saga rolls back even if this error is caught).
            reason: a sentence.
            hint: the change that a person asks for.
            body: the provider's answer, as JSON.
        """
        super().__init__(
            f"{tool} {outcome}: {reason}",
            {"tool": tool, "outcome": outcome, "reason": reason, "hint": hint},
            type="ToolCallFailed",
            non_retryable=True,
        )
        self.tool = tool
        self.outcome = outcome
        self.reason = reason
        self.hint = hint
        self.body = body

    @property
    def for_model(self) -> str:
        """The text that a model reads about the failure."""
        wish = f" A person says: {self.hint}" if self.hint else ""
        return f"{self.outcome}: {self.reason}{wish}"


Repair = Callable[["GuardedCall", CallTool, ToolCallFailed], Awaitable[CallTool]]


class GuardedCall:
    """A call under way, with what its card, its questions and its spending need."""

    task_queue: Final = None
    """Of the call's activities; None: the workflow's own."""

    def __init__(
        self,
        terms: LegInput,
        budget: MissionBudget,
        limits: MissionLimits,
        *,
        changed: Callable[[], None],
        ledger: Callable[[], Ledger],
    ) -> None:
        """Prepare a call of these terms; the rest is of its saga."""
        self.progress = Progress(terms, changed, budget, ledger)
        self.approvals = Approvals(self.progress)
        self.questions = Questions(self.progress)
        own_limits = LegLimits(self.progress, limits)
        self._caller = Caller(self.progress, own_limits, self.approvals, self.questions)

    def stall(self, why: str) -> None:
        """Show why the call waits for state that workers are missing; empty: no longer waiting."""
        self.progress.stall(why)

    async def run(self, wanted: CallTool, repair: Repair | None = None) -> JsonValue:
        """Make the call and return its answer; `repair` gives the call to make after a failure.

        Raises:
            ToolCallFailed: the call did not succeed.
        """
        work_for(self)
        self.progress.begin(workflow.now())
        while True:
            try:
                return await self._made(wanted)
            except ToolCallFailed as failed:
                if repair is None:
                    raise
                wanted = await repair(self, wanted, failed)
                # People may be asked again about a call that they or its provider refused.
                self.progress.update(asked=(), noted=())

    async def _made(self, wanted: CallTool) -> JsonValue:
        self.progress.begin_step()
        try:
            await self._caller.call(wanted)
        except (LegFailed, LegSkipped) as lost:
            state = self.progress.state
            outcome = state.steps[-1].outcome if state.steps else "refused"
            outcome = "unknown" if state.ledger.live() else outcome
            raise ToolCallFailed(wanted.tool, outcome, str(lost)) from lost
        except ActivityError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError) and cause.type == ToolNotFound.__name__:
                raise ToolCallFailed(wanted.tool, "invalid", cause.message) from error
            if self.progress.state.ledger.live():  # it was sent before the failure
                raise ToolCallFailed(wanted.tool, "unknown", first_words(error)) from error
            raise
        self.progress.end(LegStatus.SUCCEEDED)
        seen = self.progress.state.observations[-1]
        if seen.outcome != "succeeded":
            raise ToolCallFailed(
                wanted.tool,
                seen.outcome,
                seen.error or "no reason was given",
                hint=seen.hint,
                body=seen.body,
            )
        return seen.body
