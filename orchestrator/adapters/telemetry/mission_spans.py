"""A trace from a client through mission and activities, by interceptors of Temporal's SDK.

The SDK's own OpenTelemetry plugin propagates the trace context; the spans are this project's,
because the SDK's contain the texts of errors. A workflow's span gets the same id at every replay,
and is exported once, by the worker on which the workflow ends.
"""

import logging
from collections.abc import Iterator, Sequence
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

from orchestrator.adapters.telemetry import conventions
from orchestrator.adapters.telemetry.instruments import SCOPE, note_error, quiet_span
from orchestrator.messages import names

_log = logging.getLogger(__name__)
_SPAN_NAMES: Final = {
    names.MISSION_WORKFLOW: "mission",
    names.ROLLBACK_WORKFLOW: "rollback",
    names.PLAN_WORKFLOW: "plan preview",
    names.SWEEP_WORKFLOW: "sweep",
}
_OF_A_LEG: Final = ("call", "step", "leg", "obligation")
"""Fields of an activity's input that name its leg, if the input itself does not."""


class MissionTracing(SimplePlugin):
    """Traces missions: a plugin of clients, which their workers inherit."""

    def __init__(self) -> None:
        """Trace to the provider installed in this process.

        If it is not safe in replays, workers of this process do not continue a client's trace.
        """
        # A client's span has to start before its context is serialised, a worker's after it was
        # read: the first interceptor of a list is the outermost of both.
        interceptors: list[ClientInterceptor | Interceptor] = [_ClientSpans()]
        if isinstance(trace.get_tracer_provider(), ReplaySafeTracerProvider):
            interceptors += [OpenTelemetryInterceptor(), _WorkerSpans()]
        else:
            interceptors += [_ClientContext()]
        super().__init__("orchestrator.MissionTracing", interceptors=interceptors)

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """Add the spans of workflows and activities, or log why there are none."""
        if not isinstance(trace.get_tracer_provider(), ReplaySafeTracerProvider):
            _log.warning(
                "missions are not traced on this worker: something else has installed a tracer "
                "provider in this process, and no replay is safe with it; leave the set-up to the "
                "worker, or make the provider with "
                "temporalio.contrib.opentelemetry.create_tracer_provider"
            )
        return super().configure_worker(config)


class _ClientContext(ClientInterceptor):
    """Sends the trace context, as the SDK's interceptor does, from clients alone."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return OpenTelemetryInterceptor().intercept_client(next)


# -- clients ------------------------------------------------------------------------------------


class _ClientSpans(ClientInterceptor):
    """A span around the start of a mission."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _ClientOutbound(next)


class _ClientOutbound(OutboundInterceptor):
    """Sends only the trace's ids: headers are not encrypted."""

    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        with _without_baggage(), _start_span(input.workflow, input.id):
            return await super().start_workflow(input)

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
    """Remove the baggage of earlier callers from the context."""
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
    named: dict[str, AttributeValue] = {conventions.MISSION_ID: workflow_id}
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
        if named:
            named |= leg_attributes(input.args)
        named[conventions.ATTEMPT] = info.attempt
        if name == names.INVOKE_TOOL:
            call = input.args[0]
            name = f"execute_tool {call.tool}"
            named |= {
                conventions.OPERATION: "execute_tool",
                conventions.TOOL_NAME: call.tool,
                conventions.CALL_ID: call.call_id,
            }
        tracer = trace.get_tracer(SCOPE)
        with quiet_span(tracer, name, attributes=named, kind_of=_kind_of):
            return await super().execute_activity(input)


def _kind_of(error: BaseException) -> str:
    """Return an application error's own type, else the class: texts may be a provider's."""
    carried = error.type if isinstance(error, ApplicationError) else None
    return carried or type(error).__name__


def _where(workflow_type: str | None, workflow_id: str | None) -> dict[str, AttributeValue]:
    if workflow_type not in names.OF_MISSIONS or workflow_id is None:
        return {}
    mission_id = names.mission_of(workflow_id)
    return {conventions.MISSION_ID: mission_id, conventions.CONVERSATION_ID: mission_id}


def leg_attributes(arguments: Sequence[Any]) -> dict[str, AttributeValue]:
    """Return the leg that an activity works for, and its agent, as far as its input names them."""
    named: dict[str, AttributeValue] = {}
    for message in arguments[:1]:
        for part in (message, *(getattr(message, name, None) for name in _OF_A_LEG)):
            leg_id = getattr(part, "leg_id", None)
            profile = getattr(part, "agent", None)
            agent = getattr(profile, "name", None) or getattr(profile, "agent", None)  # of a wall
            if isinstance(leg_id, str) and leg_id:
                named.setdefault(conventions.LEG_ID, leg_id)
            if isinstance(agent, str) and agent:
                named.setdefault(conventions.AGENT_NAME, agent)
    return named


# -- workflows ----------------------------------------------------------------------------------


class _WorkflowInbound(WorkflowInboundInterceptor):
    """A span from the start of a run to its end.

    The span is ended explicitly: a run that is evicted, or whose task fails, has not ended.
    """

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_WorkflowOutbound(outbound, self))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        self.before = otel_context.get_current()
        name, named = _of_workflow()
        span = trace.get_tracer(SCOPE).start_span(
            name,
            kind=SpanKind.INTERNAL,
            attributes=named,
            record_exception=False,
            set_status_on_exception=False,
        )
        # Never detached: the task that runs the workflow has its own context.
        otel_context.attach(trace.set_span_in_context(span))
        try:
            result = await super().execute_workflow(input)
        except workflow.ContinueAsNewError:
            span.set_attribute(conventions.STATUS, "continued")
            span.end()
            raise
        except GeneratorExit:  # garbage-collected, outside of any task
            raise
        except BaseException as error:
            if is_cancelled_exception(error):
                span.set_attribute(conventions.STATUS, "cancelled")
                span.end()  # an evicted run does not reach this
            elif workflow.is_failure_exception(error):
                note_error(span, _kind_of(error))
                for detail in getattr(error, "details", ()):
                    _note_status(span, detail)
                span.end()
            raise
        _note_status(span, result)
        span.end()
        return result


class _WorkflowOutbound(WorkflowOutboundInterceptor):
    """Makes a run that continues as new pass on the context that it received."""

    def __init__(self, next: WorkflowOutboundInterceptor, inbound: _WorkflowInbound) -> None:
        super().__init__(next)
        self._inbound = inbound

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
        otel_context.attach(self._inbound.before)
        super().continue_as_new(input)


def _of_workflow() -> tuple[str, dict[str, AttributeValue]]:
    info = workflow.info()
    named = _where(info.workflow_type, info.workflow_id)
    return _SPAN_NAMES.get(info.workflow_type, info.workflow_type), named


def _note_status(span: Span, result: object) -> None:
    status = getattr(result, "status", None)
    if status is not None:
        span.set_attribute(conventions.STATUS, str(status))
