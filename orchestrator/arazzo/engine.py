"""The engine: from the answers so far to the next move. It keeps nothing and calls nobody.

It goes through the workflow from its beginning with the recorded answers, in their order, so that
the same answers always lead to the same move.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Final, Literal
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from orchestrator.arazzo.criteria import all_hold
from orchestrator.arazzo.json_paths import ValueMissing
from orchestrator.arazzo.runtime_expressions import (
    HttpMessage,
    Scope,
    as_text,
    expressions_in,
    fill,
    is_left_out,
)
from orchestrator.arazzo.written import Action, CallShape, WrittenStep, WrittenWorkflow
from orchestrator.catalog.expressions import parse_filling
from orchestrator.core.call_ref import StatedCancel
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, required_of

MOST_CALLS: Final = 1_000
"""Calls of a workflow, with those of the workflows that it calls."""
MOST_CALLS_OF_A_STEP: Final = 100
LONGEST_WAIT_S: Final = 7 * 24 * 3600.0
"""The longest wait before a retry, whoever asks for it."""

NO_OUTPUTS: Mapping[str, JsonObject] = {}


@dataclass(frozen=True)
class StepAnswer:
    """What became of one call of a step."""

    step_id: str
    """Path of the step: `book`, or `travel/book` for a step of a called workflow."""
    outcome: Literal["succeeded", "rejected", "unknown", "refused", "invalid"]
    status: int | None = None
    """HTTP status; None if there was no answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By lower-case name."""
    body: JsonValue = None
    error: str = ""
    arguments: JsonObject = field(default_factory=dict)
    """The arguments that were sent, possibly amended by a person."""


@dataclass(frozen=True)
class CallMove:
    """Make the call of a step, not before so many seconds have passed since the last answer."""

    step_id: str
    tool: str
    """Empty for a step with a goal, whose planner takes the arguments as inputs."""
    arguments: JsonObject
    title: str = ""
    after_s: float = 0
    step: WrittenStep | None = field(default=None, compare=False)
    cancel: StatedCancel | None = None
    """The call that cancels it; it may read the call and its answer."""


@dataclass(frozen=True)
class EndMove:
    """The workflow has ended well."""

    outputs: JsonObject
    skipped: tuple[str, ...] = ()
    """Paths of consequence steps that were not reached, or went past."""
    missing: tuple[str, ...] = ()
    """A sentence for each declared output that has no value."""


@dataclass(frozen=True)
class FailMove:
    """The workflow has failed: a sentence with the step and the reason."""

    step_id: str
    reason: str


Move = CallMove | EndMove | FailMove


class _Stopped(Exception):
    """The end of the recorded answers, or a failure that no action of the document handles."""

    def __init__(self, move: CallMove | FailMove) -> None:
        self.move = move


def next_move(
    workflow: WrittenWorkflow,
    inputs: JsonObject,
    answers: Sequence[StepAnswer],
    outputs_of: Mapping[str, JsonObject] = NO_OUTPUTS,
) -> Move:
    """Return the next move of a workflow.

    Args:
        workflow: bound to tools.
        inputs: of the workflow, checked against its schema before.
        answers: of its calls so far, the oldest first.
        outputs_of: outputs of the workflows that it depends on, by their ids.
    """
    try:
        result = _Replay(answers, outputs_of).run(workflow, inputs, "")
    except _Stopped as stopped:
        return stopped.move
    if isinstance(result, FailMove):
        return result
    made = {answer.step_id for answer in answers if answer.outcome in _MAY_STAND}
    skipped = (path for path, step in workflow.paths() if step.is_consequence and path not in made)
    return replace(result, skipped=tuple(dict.fromkeys(skipped)))


_MAY_STAND: Final = frozenset({"succeeded", "unknown"})
_Result = EndMove | FailMove


class _Replay:
    """Goes through a workflow with the recorded answers, up to the first call without one."""

    def __init__(self, answers: Sequence[StepAnswer], outputs_of: Mapping[str, JsonObject]) -> None:
        self._answers = answers
        self._outputs_of = outputs_of
        self._at = 0
        self._calls: Counter[str] = Counter()
        self._effects: Counter[str] = Counter()
        self._errors: dict[str, str] = {}
        """Why the last call of each step failed."""
        self._refused: set[str] = set()
        self._after_s = 0.0
        self._last: HttpMessage | None = None
        """The last answer: a step that calls a workflow reads it too."""

    def run(self, workflow: WrittenWorkflow, inputs: JsonObject, prefix: str) -> _Result:
        """Go through a workflow to its end; raise `_Stopped` where a call has no answer yet."""
        declared = properties_of(workflow.inputs)
        defaults = {name: one["default"] for name, one in declared.items() if "default" in one}
        scope = Scope(
            inputs={**defaults, **inputs},
            workflows=self._outputs_of,
            optional=properties_of(workflow.inputs).keys() - {*required_of(workflow.inputs)},
        )
        places = {step.step_id: index for index, step in enumerate(workflow.steps)}
        index = 0
        while index < len(workflow.steps):
            step = workflow.steps[index]
            action = self._visit(workflow, step, scope, prefix)
            if isinstance(action, FailMove):
                return action
            if action is None:
                index += 1
            elif action.kind == "end":
                break
            elif action.workflow is not None:
                path = f"{prefix}{step.step_id}"
                given = self._filled(action.arguments, scope, path)
                return self.run(action.workflow, given, f"{path}.{action.name}/")
            else:
                index = places[action.step_id]
        outputs: JsonObject = {}
        missing = []
        for name, template in workflow.outputs.items():
            try:
                outputs[name] = fill(template, scope)
            except ValueMissing as why:
                missing.append(f"the output {name!r}: {why}")
        return EndMove(outputs, missing=tuple(missing))

    def _visit(
        self, workflow: WrittenWorkflow, step: WrittenStep, scope: Scope, prefix: str
    ) -> Action | FailMove | None:
        """Carry out a step with its retries; return what follows, or None: the next step."""
        path = f"{prefix}{step.step_id}"
        retries: Counter[str] = Counter()
        while True:
            why = self._attempt(step, scope, prefix)
            if not why:
                return _first(step.on_success, scope)
            left = [
                action
                for action in step.on_failure
                if action.kind != "retry"
                or (path not in self._refused and retries[action.name] < action.retry_limit)
            ]
            action = _first(left, scope)
            if action is None:
                return FailMove(path, why)
            if action.kind != "retry":
                return action
            retries[action.name] += 1
            wait_s = min(max(_asked_wait_s(scope, action.retry_after_s), 0.0), LONGEST_WAIT_S)
            if action.workflow is not None:
                given = self._filled(action.arguments, scope, path)
                result = self.run(action.workflow, given, f"{path}.{action.name}/")
                if isinstance(result, FailMove):
                    return result
            elif action.step_id:
                first = next(one for one in workflow.steps if one.step_id == action.step_id)
                if why := self._attempt(first, scope, prefix):
                    return FailMove(f"{prefix}{first.step_id}", why)
            self._after_s = wait_s

    def _attempt(self, step: WrittenStep, scope: Scope, prefix: str) -> str:
        """Carry out a step once; return '' if it succeeded, else why not."""
        path = f"{prefix}{step.step_id}"
        if step.workflow is not None:
            inputs = self._filled(step.arguments, scope, path)
            result = self.run(step.workflow, inputs, f"{path}/")
            scope.message = self._last
            scope.outputs = result.outputs if isinstance(result, EndMove) else {}
            if isinstance(result, FailMove):
                return f"{result.step_id}: {result.reason}"
            why = all_hold(step.criteria, scope)
        else:
            answer = self._call(step, scope, path)
            scope.outputs = {}
            scope.message = self._last = _message(step.request or CallShape(), answer)
            # A criterion may count a refusing answer such as 404 as success. It cannot make a
            # success of a call that was not sent, or whose effect is unknown.
            outcome, is_read = answer.outcome, not step.is_consequence
            is_clear = outcome in ("succeeded", "rejected")
            is_answered = is_clear or (is_read and outcome == "unknown" and answer.status)
            if outcome != "succeeded" and not (step.criteria and is_answered):
                why = answer.error or f"its outcome is {outcome}"
            else:
                why = all_hold(step.criteria, scope)
                why = f"{why}; {answer.error}" if why and answer.error else why
            self._errors[path] = why
        if why:
            return why
        held: JsonObject = {}
        for name, template in step.outputs.items():
            try:
                held[name] = fill(template, scope)
                scope.missing.pop((step.step_id, name), None)
            except ValueMissing as missing:
                scope.missing[step.step_id, name] = str(missing)
        scope.steps[step.step_id] = held
        return ""

    def _call(self, step: WrittenStep, scope: Scope, path: str) -> StepAnswer:
        spread: JsonObject = {}
        if step.spread is not None:
            payload = self._filled({"payload": step.spread}, scope, path).get("payload", {})
            if not isinstance(payload, dict):
                raise _Stopped(FailMove(path, "its payload is no object, and its tool takes one"))
            spread = {step.spread_names.get(name, name): value for name, value in payload.items()}
        arguments = {**spread, **self._filled(step.arguments, scope, path)}
        # Stop before a call that would repeat an effect, a refusal, or an endless loop.
        made, calls, why = self._effects[path], self._calls[path], ""
        if step.is_consequence and made >= step.repeats:
            times = "once" if made == 1 else f"{made} times"
            before = f"{self._errors[path]}; " if self._errors.get(path) else ""
            why = (
                f"{before}its effect was made {times} or may have been, and it is not repeated; if "
                f"it should be, write x-orchet-repeats: {made + 1} on the step"
            )
        elif path in self._refused:
            why = "a person refused it, and it is not asked again"
        elif calls >= MOST_CALLS_OF_A_STEP:
            why = f"it was called {MOST_CALLS_OF_A_STEP} times: the workflow has a loop without end"
        elif self._calls.total() >= MOST_CALLS:
            why = f"the workflow has made {MOST_CALLS:,} calls: it has a loop without end"
        if why:
            raise _Stopped(FailMove(path, why))
        self._calls[path] += 1
        if self._at == len(self._answers):
            raise _Stopped(self._move(step, scope, path, arguments))
        answer = self._answers[self._at]
        if answer.step_id != path:
            why = f"the recorded answer is one of {answer.step_id!r}: the workflow was changed"
            raise _Stopped(FailMove(path, why))
        self._at += 1
        self._after_s = 0.0
        if answer.outcome in _MAY_STAND:
            self._effects[path] += 1
        if answer.outcome == "refused":
            self._refused.add(path)
        return answer

    def _move(self, step: WrittenStep, scope: Scope, path: str, arguments: JsonObject) -> CallMove:
        """Return the call of a step, with its cancel as far as values are known before it."""
        title = step.title or step.step_id
        if step.card_text:
            filled = self._filled({"card text": step.card_text}, scope, path)
            title = str(filled.get("card text", title))
        cancel = step.cancel
        if cancel is not None:
            own = {
                n: v
                for n, v in cancel.arguments.items()
                if any(one.root in ("request", "response") for one in expressions_in(v))
            }
            rest = {n: v for n, v in cancel.arguments.items() if n not in own}
            known = self._filled(rest, scope, path)
            for name, value in known.items():
                try:
                    is_constant = not parse_filling(value).expressions
                except ValueError:
                    is_constant = False
                if not is_constant:
                    why = f"{name!r} of its cancel would be read as an expression: {value!r:.100}"
                    raise _Stopped(FailMove(path, why))
            cancel = cancel.model_copy(update={"arguments": {**own, **known}})
        return CallMove(path, step.tool, arguments, title[:2_000], self._after_s, step, cancel)

    def _filled(self, templates: JsonObject, scope: Scope, path: str) -> JsonObject:
        """Return templates evaluated, without those of optional inputs that were not given."""
        filled: JsonObject = {}
        for name, template in templates.items():
            try:
                if not is_left_out(template, scope):
                    filled[name] = fill(template, scope)
            except ValueMissing as missing:
                raise _Stopped(FailMove(path, f"its {name!r}: {missing}")) from None
        return filled


def _message(shape: CallShape, answer: StepAnswer) -> HttpMessage:
    parts: dict[str, JsonObject] = {
        place: {} for place in ("path", "query", "header", "cookie", "body")
    }
    body: JsonObject = {}
    for name, value in answer.arguments.items():
        place, _, field_name = shape.places.get(name, ":").partition(":")
        if place == "body" and field_name:
            body[field_name] = value
        elif place in parts:
            parts[place][field_name.lower() if place == "header" else field_name] = value
    if body:
        parts["body"][""] = body
    url = shape.url
    for name, value in parts["path"].items():
        url = url.replace(f"{{{name}}}", quote(as_text(value), safe=""))
    if url and parts["query"]:
        url += "?" + urlencode({name: as_text(value) for name, value in parts["query"].items()})
    return HttpMessage(answer.status, answer.headers, answer.body, shape.method, url, parts)


def _first(actions: Iterable[Action], scope: Scope) -> Action | None:
    return next((one for one in actions if not all_hold(one.criteria, scope)), None)


def _asked_wait_s(scope: Scope, default_s: float) -> float:
    """Return the seconds before a retry: those that the provider asks for win."""
    headers = scope.message.headers if scope.message is not None else {}
    asked = next((v for name, v in headers.items() if name.lower() == "retry-after"), "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked[:12])
    sent = next((v for name, v in headers.items() if name.lower() == "date"), "")
    try:
        return (parsedate_to_datetime(asked) - parsedate_to_datetime(sent)).total_seconds()
    except (TypeError, ValueError):
        return default_s
