"""One trace from a client through mission, legs and activities, by interceptors of Temporal's SDK.

The SDK's own OpenTelemetry plugin carries the trace context along; the spans are ours, for its own
hold the texts of errors. A workflow's span has an id that every replay gives it again, and is told
once, by the worker on which the workflow ends.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue
from temporalio import activity, workflow
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.client import (
    OutboundInterceptor,
    QueryWorkflowInput,
    SignalWorkflowInput,
    StartWorkflowInput,
    StartWorkflowUpdateInput,
    StartWorkflowUpdateWithStartInput,
    WorkflowHandle,
    WorkflowUpdateHandle,
)
from temporalio.contrib.opentelemetry import OpenTelemetryInterceptor, ReplaySafeTracerProvider
from temporalio.exceptions import ApplicationError, is_cancelled_exception
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    ContinueAsNewInput,
    ExecuteActivityInput,
    ExecuteWorkflowInput,
    Interceptor,
    WorkerConfig,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from orchestrator.adapters.telemetry import told_names as told
from orchestrator.adapters.telemetry.instruments import SCOPE, note_error, quiet_span
from orchestrator.messages import names

_log = logging.getLogger(__name__)
_SPAN_NAMES: Final = {
    names.MISSION_WORKFLOW: "mission",
    names.ROLLBACK_WORKFLOW: "rollback",
    names.PLAN_WORKFLOW: "plan preview",
    names.SWEEP_WORKFLOW: "sweep",
}


class MissionTracing(SimplePlugin):
    """Traces missions: for `plugins` of a client, whose workers have it too."""

    def __init__(self) -> None:
        """Trace to the provider that is installed in this process.

        Where that is none for workflows, a client's trace goes on in no worker of this process.
        """
        # The client's span has to stand before its context is written down, a worker's after it
        # was read: the first of a list is the outermost of both.
        interceptors: list[ClientInterceptor | Interceptor] = [_ClientSpans()]
        if isinstance(trace.get_tracer_provider(), ReplaySafeTracerProvider):
            interceptors += [OpenTelemetryInterceptor(), _WorkerSpans()]
        else:
            interceptors += [_ClientContext()]
        super().__init__("orchestrator.MissionTracing", interceptors=interceptors)

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """With the spans of workflows and activities, or a word on why there are none."""
        if not isinstance(trace.get_tracer_provider(), ReplaySafeTracerProvider):
            _log.warning(
                "missions are not traced on this worker: something else has installed a tracer "
                "provider in this process, and no replay is safe with it; leave the set-up to the "
                "worker, or make the provider with "
                "temporalio.contrib.opentelemetry.create_tracer_provider"
            )
        return super().configure_worker(config)


class _ClientContext(ClientInterceptor):
    """Sends the trace context along, as the SDK's interceptor does, from a client alone."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return OpenTelemetryInterceptor().intercept_client(next)


# -- clients ------------------------------------------------------------------------------------


class _ClientSpans(ClientInterceptor):
    """A span around the start of a mission."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _ClientOutbound(next)


class _ClientOutbound(OutboundInterceptor):
    """What is sent along is the trace's ids alone: headers are plain, whatever is encrypted."""

    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        with _without_baggage(), _start_span(input.workflow, input.id):
            return await super().start_workflow(input)

    async def query_workflow(self, input: QueryWorkflowInput) -> Any:
        with _without_baggage():
            return await super().query_workflow(input)

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:
        with _without_baggage():
            await super().signal_workflow(input)

    async def start_workflow_update(
        self, input: StartWorkflowUpdateInput
    ) -> WorkflowUpdateHandle[Any]:
        with _without_baggage():
            return await super().start_workflow_update(input)

    async def start_update_with_start_workflow(
        self, input: StartWorkflowUpdateWithStartInput
    ) -> WorkflowUpdateHandle[Any]:
        start = input.start_workflow_input
        with _without_baggage(), _start_span(start.workflow, start.id):
            return await super().start_update_with_start_workflow(input)


@contextmanager
def _without_baggage() -> Iterator[None]:
    """Without what whoever is before us has put into the context for those after it."""
    token = otel_context.attach(baggage.clear())
    try:
        yield
    finally:
        otel_context.detach(token)


@contextmanager
def _start_span(workflow_type: str, workflow_id: str) -> Iterator[None]:
    if workflow_type != names.MISSION_WORKFLOW:
        yield
        return
    named: dict[str, AttributeValue] = {told.MISSION_ID: workflow_id}
    tracer = trace.get_tracer(SCOPE)
    with quiet_span(tracer, "start mission", kind=SpanKind.CLIENT, attributes=named):
        yield


# -- activities ---------------------------------------------------------------------------------


class _WorkerSpans(Interceptor):
    """A span around each workflow and each attempt of an activity."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _ActivityInbound(next)

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        return _WorkflowInbound


class _ActivityInbound(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        name, named = info.activity_type, _where(info.workflow_type, info.workflow_id)
        named[told.ATTEMPT] = info.attempt
        if name == names.INVOKE_TOOL:
            call = input.args[0]
            name = f"execute_tool {call.tool}"
            named |= {
                told.OPERATION: "execute_tool",
                told.TOOL_NAME: call.tool,
                told.CALL_ID: call.call_id,
            }
        tracer = trace.get_tracer(SCOPE)
        with quiet_span(tracer, name, attributes=named, kind_of=_kind_of):
            return await super().execute_activity(input)


def _kind_of(error: BaseException) -> str:
    """Its class, or what our code called it; what others call theirs, a provider may have said."""
    carried = error.type if isinstance(error, ApplicationError) else None
    return carried or type(error).__name__


def _where(workflow_type: str | None, workflow_id: str | None) -> dict[str, AttributeValue]:
    """Whose work it is: the mission's, and the leg's where it is one's."""
    if workflow_type not in names.OF_MISSIONS or workflow_id is None:
        return {}
    mission_id = names.mission_of(workflow_id)
    named: dict[str, AttributeValue] = {
        told.MISSION_ID: mission_id,
        told.CONVERSATION_ID: mission_id,
    }
    if workflow_type == names.LEG_WORKFLOW:
        named[told.LEG_ID] = workflow_id.removeprefix(f"{mission_id}.")
    return named


# -- workflows ----------------------------------------------------------------------------------


class _WorkflowInbound(WorkflowInboundInterceptor):
    """A span from the start of a run to its end.

    It is ended by hand: a run that is let go of, or whose task fails, has not ended.
    """

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_WorkflowOutbound(outbound, self))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        self.before = otel_context.get_current()
        name, named = _of_workflow(input)
        span = trace.get_tracer(SCOPE).start_span(
            name,
            kind=SpanKind.INTERNAL,
            attributes=named,
            record_exception=False,
            set_status_on_exception=False,
        )
        # Never detached: the task that runs the workflow has a context of its own.
        otel_context.attach(trace.set_span_in_context(span))
        try:
            result = await super().execute_workflow(input)
        except workflow.ContinueAsNewError:
            span.set_attribute(told.STATUS, "continued")
            span.end()
            raise
        except GeneratorExit:  # collected as garbage, outside of any task
            raise
        except BaseException as error:
            if is_cancelled_exception(error):
                span.set_attribute(told.STATUS, "cancelled")
                span.end()  # which a run that is only let go of does not do
            elif workflow.is_failure_exception(error):
                _note_failure(span, error)
                span.end()
            raise
        _note_status(span, result)
        span.end()
        return result


class _WorkflowOutbound(WorkflowOutboundInterceptor):
    """A run that goes on in a new one hands on the context that it had got itself."""

    def __init__(self, next: WorkflowOutboundInterceptor, inbound: _WorkflowInbound) -> None:
        super().__init__(next)
        self._inbound = inbound

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
        otel_context.attach(self._inbound.before)
        super().continue_as_new(input)


def _of_workflow(input: ExecuteWorkflowInput) -> tuple[str, dict[str, AttributeValue]]:
    info = workflow.info()
    named = _where(info.workflow_type, info.workflow_id)
    if info.workflow_type == names.LEG_WORKFLOW:
        agent = input.args[0].leg.agent.name
        leg: dict[str, AttributeValue] = {told.OPERATION: "invoke_agent", told.AGENT_NAME: agent}
        return f"invoke_agent {agent}", {**named, **leg}
    return _SPAN_NAMES.get(info.workflow_type, info.workflow_type), named


def _note_status(span: Span, result: object) -> None:
    status = getattr(result, "status", None)
    if status is not None:
        span.set_attribute(told.STATUS, str(status))


def _note_failure(span: Span, error: BaseException) -> None:
    note_error(span, _kind_of(error))
    for detail in getattr(error, "details", ()):
        _note_status(span, detail)
