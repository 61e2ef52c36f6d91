"""The desk of a workflow with sagas: it takes people's decisions and makes sure each saga ends.

`SagaRouting` gives every workflow of a worker its desk before the code of the workflow runs.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal.search_attributes import MODE
    from orchestrator.confirmation.models import DecisionEnvelope, DecisionReceipt
    from orchestrator.core.errors import QuestionError
    from orchestrator.messages import names
    from orchestrator.messages.leg import AnswerInput, LegWaiting
    from orchestrator.messages.observed import SEARCHED_AS
    from orchestrator.messages.open_waits import wait_of
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.workflows import ui
    from orchestrator.workflows.confirmation import ConfirmationGate
    from orchestrator.workflows.failures import WORK_FAILURES, refuse
    from orchestrator.workflows.scope import work_for

    if TYPE_CHECKING:
        from orchestrator.workflows.guarded_call import GuardedCall
        from orchestrator.workflows.tool_saga import ToolSaga

_OURS: Final = frozenset({
    names.MISSION_WORKFLOW, names.ROLLBACK_WORKFLOW, names.SWEEP_WORKFLOW, names.PLAN_WORKFLOW,
    names.SESSION_WORKFLOW, names.SESSION_CALL_WORKFLOW,
})  # fmt: skip
"""A session makes its desk itself."""
MISUSED: Final = "ToolSagaMisused"


class SagaRouting(Interceptor):
    """Worker interceptor that lets people decide on the cards of sagas, and ends open sagas."""

    def workflow_interceptor_class(
        self, given: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """Return the interceptor of each workflow."""
        return _WithDesk


class _WithDesk(WorkflowInboundInterceptor):
    _desk: "Desk | None" = None

    def _open(self) -> None:
        """Set up the desk; in a first workflow task, handlers may run before the workflow does."""
        is_ours = workflow.info().workflow_type in _OURS
        if self._desk is None and not is_ours and _own_update() is None:
            self._desk = Desk()

    async def handle_signal(self, given: HandleSignalInput) -> None:
        self._open()
        await super().handle_signal(given)

    async def handle_update_handler(self, given: HandleUpdateInput) -> Any:
        self._open()
        return await super().handle_update_handler(given)

    async def execute_workflow(self, given: ExecuteWorkflowInput) -> Any:
        self._open()
        if self._desk is None:
            return await super().execute_workflow(given)
        try:
            result = await super().execute_workflow(given)
        except WORK_FAILURES as error:
            await self._desk.close(error)
            raise
        await self._desk.close()
        return result


class Desk:
    """The updates and the signal of one run of a workflow, and the shown waits of its sagas."""

    def __init__(self) -> None:
        """Register the handlers."""
        info = workflow.info()
        searched = info.typed_search_attributes.get(MODE)
        self.was_observed = bool(info.continued_run_id) and searched == SEARCHED_AS
        """True if an earlier run of the workflow was not guarded."""
        self.sagas: dict[str, ToolSaga] = {}
        """The open sagas, by their ids."""
        self._began: dict[str, None] = {}
        self._shown: dict[str, LegWaiting] = {}
        self._found_by: tuple[str, ...] = ()
        self._is_to_be_shown = False
        # Its own: a coroutine of a discarded run is closed while no loop runs, or that of another.
        self._loop = asyncio.get_running_loop()
        self._handling = 0
        workflow.set_update_handler(names.DECIDE_UPDATE, self.decide, validator=self.check_decision)
        workflow.set_update_handler(names.ANSWER_UPDATE, self.answer, validator=self.check_answer)
        workflow.set_signal_handler(names.ROLLBACK_SETTLED_SIGNAL, self.rollback_settled)

    def begin(self, saga: "ToolSaga") -> None:
        """Add a saga.

        Raises:
            ApplicationError: this run of the workflow had a saga of that name.
        """
        if saga.saga_id in self._began:
            name = saga.saga_id.rpartition("-")[0]
            raise misused(
                f"the workflow has had a saga {name!r} already, and the calls of both would have "
                'the same idempotency keys: give each a name of its own, as ToolSaga("hotel")'
            )
        self._began[saga.saga_id] = None
        self.sagas[saga.saga_id] = saga

    def end(self, saga: "ToolSaga") -> None:
        """Remove a saga that is over."""
        self.sagas.pop(saga.saga_id, None)
        self.show()

    async def close(self, error: BaseException | None = None) -> None:
        """End the sagas that are still open when their workflow ends, and cancel their calls.

        Raises:
            ApplicationError: a saga had made calls, although the workflow was about to succeed.
        """
        misuse: ApplicationError | None = None
        for saga in list(self.sagas.values()):
            lost = error
            is_guarded = saga.mode != "observe"
            if lost is None and is_guarded and (saga.is_calling or saga.ledger.live()):
                lost = misuse = misused(
                    f"the workflow ended while its saga {saga.saga_id} was open, so all that the "
                    "saga had made was cancelled: let the block of `async with ToolSaga(...)` end "
                    "before the workflow does"
                )
            await saga.__aexit__(None if lost is None else type(lost), lost, None)
        if misuse is not None:
            raise misuse

    @property
    def is_idle(self) -> bool:
        """True if no decision and no answer is being handled."""
        return not self._handling

    @contextmanager
    def _handled(self) -> Iterator[None]:
        self._handling += 1
        try:
            yield
        finally:
            self._handling -= 1

    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on an open card."""
        call = self._call_of(envelope.decision.confirmation_id)
        if call is None:  # closed after the check
            raise self._closed(envelope)
        work_for(call)
        with self._handled():
            return await call.approvals.take(envelope.decision)

    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse anything but a decision on an open card, before it enters history."""
        decision = envelope.decision
        call = self._call_of(decision.confirmation_id)
        if call is not None:
            call.approvals.gate.check(decision)
        else:
            raise self._closed(envelope)

    def _closed(self, envelope: DecisionEnvelope) -> ApplicationError:
        decision = envelope.decision
        saga = self.sagas.get(names.mission_of(decision.confirmation_id))
        try:
            ConfirmationGate(saga.decisions if saga is not None else ()).check(decision)
        except ApplicationError as refusal:
            return refusal
        return misused(f"no card {decision.confirmation_id} is open here")

    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to an open question."""
        call = self._call_of(answer.question_id)
        if call is not None:
            with self._handled():
                await call.questions.take(answer)
        return answer.question_id

    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse anything but an answer to an open question, before it enters history."""
        call = self._call_of(answer.question_id)
        if call is None:
            raise refuse(
                QuestionError(
                    answer.question_id, "no such question is open", code="QuestionUnknown"
                )
            )
        call.questions.check(answer)

    def rollback_settled(self, report: RollbackReport) -> None:
        """Wake the saga whose rollback has tried everything."""
        saga = self.sagas.get(report.mission_id)
        if saga is not None:
            saga.hear(report)

    def _call_of(self, asked: str) -> "GuardedCall | None":
        saga = self.sagas.get(names.mission_of(asked))
        return None if saga is None else saga.call_of(asked)

    def show(self) -> None:
        """Show the waits of the sagas, once all events of this workflow task are handled."""
        if not self._is_to_be_shown:
            self._is_to_be_shown = True
            self._loop.call_soon(self._show_now)

    def _show_now(self) -> None:
        self._is_to_be_shown = False
        waits = {
            f"{saga_id}.{leg_id}": one
            for saga_id, saga in self.sagas.items()
            for leg_id, one in saga.waits.items()
        }
        self._shown = ui.note_waits(waits, before=self._shown)
        kinds = sorted({wait.waits_for for one in waits.values() if (wait := wait_of(one))})
        waiting = {names.mission_of(wait) for wait in waits}
        sagas = [saga_id for saga_id in self.sagas if saga_id in waiting]
        self._found_by = ui.note_saga(sagas, kinds, before=self._found_by)


def desk_of_run() -> Desk:
    """Return the desk of the running workflow.

    Raises:
        ApplicationError: the workflow itself has an update under a name that a desk needs.
        RuntimeError: the worker gives its workflows no desks. Only the workflow task fails, so that
            another worker with desks can continue; a failed workflow would leave its obligations.
    """
    desk = getattr(workflow.get_update_handler(names.DECIDE_UPDATE), "__self__", None)
    if isinstance(desk, Desk):
        return desk
    if (name := _own_update()) is not None:
        raise misused(
            f"the workflow has an update {name!r} of its own, by which people decide on the "
            "cards of a ToolSaga: give yours another name"
        )
    raise RuntimeError(
        "the worker of this workflow serves no ToolSaga: give Client.connect or the worker "
        "plugins=[OrchestratorPlugin(...)], or serve the workflow with run_worker(workflows=[...])"
    )


def _own_update() -> str | None:
    for name in (names.DECIDE_UPDATE, names.ANSWER_UPDATE):
        if workflow.get_update_handler(name) is not None:
            return name
    return None


def misused(sentence: str) -> ApplicationError:
    """Return the failure of a workflow that misuses a saga."""
    return ApplicationError(sentence, type=MISUSED, non_retryable=True)
