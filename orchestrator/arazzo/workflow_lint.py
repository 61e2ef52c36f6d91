"""Checks of bound workflows: what can never run, will surprise, or cannot be cancelled."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from pydantic import JsonValue

from orchestrator.arazzo.criteria import expressions_of
from orchestrator.arazzo.engine import LONGEST_WAIT_S
from orchestrator.arazzo.runtime_expressions import (
    RuntimeExpression,
    expressions_in,
    is_expression,
    parse_runtime_expression,
)
from orchestrator.arazzo.written import WrittenStep, WrittenWorkflow
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint.finding import Finding, Severity
from orchestrator.catalog.tool import Effect
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, required_of


class LintCode(NamedTuple):
    """The meaning of a code."""

    severity: Severity
    finds: str
    fix: str


CODES: Final[Mapping[str, LintCode]] = {
    "ARZ001": LintCode("error", "a part that cannot be bound", "correct this place"),
    "ARZ002": LintCode("error", "an unknown step", "name a step of this workflow"),
    "ARZ003": LintCode("error", "an output that nobody gives", "declare the output"),
    "ARZ004": LintCode("error", "an unknown input", "declare it under inputs"),
    "ARZ005": LintCode(
        "error", "an output of a step that cannot have ended", "move the step before this one"
    ),
    "ARZ006": LintCode("error", "a workflow that has not ended", "name it in dependsOn"),
    "ARZ010": LintCode(
        "warning",
        "an effect that no tool cancels",
        "declare its cancel tool (x-orchet-cancels), or put the step last",
    ),
    "ARZ011": LintCode(
        "warning", "types that do not fit", "read another value, or change the type of the input"
    ),
    "ARZ012": LintCode(
        "warning", "a loop without an end", "give the goto criteria, or use a retry with a limit"
    ),
    "ARZ013": LintCode(
        "warning", "an effect in a loop", "write x-orchet-repeats: N on the step, or leave the loop"
    ),
    "ARZ014": LintCode("warning", "a step that is never reached", "take it out, or go to it"),
    "ARZ015": LintCode("warning", "an input that nothing reads", "take it out, or use it"),
    "ARZ016": LintCode(
        "warning", "a place that the answer's schema does not have", "correct the pointer"
    ),
    "ARZ017": LintCode(
        "warning", "an optional input that a step needs", "list the input under required"
    ),
    "ARZ018": LintCode("warning", "a wait that is cut", "wait for seven days at most"),
    "ARZ020": LintCode("note", "a part without effect", "take it out, or leave it"),
}


def lint_workflows(workflows: Iterable[WrittenWorkflow], catalog: Catalog) -> list[Finding]:
    """Return the findings about bound workflows, and about those that they call, errors first."""
    findings: dict[tuple[str, str, str], Finding] = {}
    listed = list(workflows)
    for workflow in listed:
        for one, is_called in _with_called(workflow):
            ended = [] if is_called else [w for w in listed if w.workflow_id in one.depends_on]
            for finding in _Checker(one, catalog, workflow if is_called else one, ended).findings():
                findings.setdefault((finding.code, finding.pointer, finding.message), finding)
    order: tuple[Severity, ...] = ("error", "warning", "note")
    return sorted(findings.values(), key=lambda one: order.index(one.severity))


def fault_finding(fault: DocumentInvalid) -> Finding:
    """Return a fault of the binding as a finding."""
    return Finding(
        code="ARZ001",
        severity="error",
        document=fault.document,
        pointer=fault.pointer,
        message=fault.reason,
        fix=fault.remedy or CODES["ARZ001"].fix,
    )


def _with_called(
    workflow: WrittenWorkflow, is_called: bool = False
) -> Iterator[tuple[WrittenWorkflow, bool]]:
    yield workflow, is_called
    for step in workflow.steps:
        called = (step.workflow, *(action.workflow for action in step.actions))
        for one in called:
            if one is not None:
                yield from _with_called(one, True)


@dataclass(frozen=True)
class _Reading:
    """An expression and the place where it stands."""

    expression: RuntimeExpression
    pointer: str
    step: int | None = None
    """Index of the step; None for outputs of the workflow."""
    is_after: bool = False
    """True if the step itself has ended."""


@dataclass
class _Checker:
    workflow: WrittenWorkflow
    catalog: Catalog
    root: WrittenWorkflow
    """The workflow that calls it, or itself."""
    ended: list[WrittenWorkflow] = field(default_factory=list)

    def findings(self) -> Iterator[Finding]:
        inputs = self.workflow.inputs
        declared = inputs.get("properties")
        is_open = not isinstance(declared, dict) or inputs.get("additionalProperties", False)
        for reading in self.readings:
            one = reading.expression
            if one.root == "inputs":
                if isinstance(declared, dict) and not is_open and not _names(one.name, declared):
                    reason = f"{one.text} is no declared input"
                    yield self._finding("ARZ004", reading.pointer, reason)
            elif one.root == "steps":
                place = self._places.get(one.holder)
                if place is None:
                    reason = f"{one.text}: the workflow has no step {one.holder!r}"
                    yield self._finding("ARZ002", reading.pointer, reason)
                elif not _names(one.name, self.workflow.steps[place].outputs):
                    reason = f"{one.text}: the step {one.holder!r} has no such output"
                    yield self._finding("ARZ003", reading.pointer, reason)
                elif not self._may_have_ended(place, reading):
                    reason = f"{one.text}: the step {one.holder!r} cannot have ended before"
                    yield self._finding("ARZ005", reading.pointer, reason)
            elif one.root == "workflows" and one.field == "outputs":
                found = [w for w in self.ended if w.workflow_id == one.holder]
                is_known = one.holder in self.root.depends_on
                if not is_known:
                    reason = f"{one.text} reads a workflow that this one does not depend on"
                    yield self._finding("ARZ006", reading.pointer, reason)
                elif found and not _names(one.name, found[0].outputs):
                    yield self._finding("ARZ003", reading.pointer, f"{one.text}: no such output")
            elif one.root == "outputs" and reading.step is not None:
                called = self.workflow.steps[reading.step].workflow
                if called is None or not _names(one.name, called.outputs):
                    reason = f"{one.text} is no output of a workflow that the step calls"
                    yield self._finding("ARZ003", reading.pointer, reason)
            elif one.root in ("components", "sourceDescriptions"):
                reason = f"{one.text} has no value while a workflow runs"
                yield self._finding("ARZ003", reading.pointer, reason)
        read = {r.expression.name for r in self.readings if r.expression.root == "inputs"}
        for name in properties_of(self.workflow.inputs):
            if not any(one == name or one.startswith((f"{name}.", f"{name}[")) for one in read):
                pointer = f"{self.workflow.pointer}/inputs"
                yield self._finding("ARZ015", pointer, f"nothing reads the input {name!r}")
        for index, step in enumerate(self.workflow.steps):
            yield from self._check_flow(index, step)
            yield from self._check_effect(index, step)
            yield from self._check_types(step)
            schema = self._answer_schema(step)
            for expression in expressions_in(dict(step.outputs)):
                is_body = expression.root == "response" and expression.holder == "body"
                if is_body and _is_nowhere(schema, expression.path):
                    of = step.tool or "its planner"
                    reason = f"{expression.text} is not in the answer of {of}"
                    yield self._finding("ARZ016", f"{step.pointer}/outputs", reason)
        for note in self.workflow.notes:
            yield self._finding("ARZ020", self.workflow.pointer, note)

    def _finding(self, code: str, pointer: str, message: str) -> Finding:
        meaning = CODES[code]
        return Finding(
            code=code,
            severity=meaning.severity,
            document=self.workflow.document,
            pointer=pointer,
            message=message,
            fix=meaning.fix,
        )

    @cached_property
    def readings(self) -> list[_Reading]:
        """All expressions of the workflow."""
        found = []
        for index, step in enumerate(self.workflow.steps):
            cancel = dict(step.cancel.arguments) if step.cancel is not None else {}
            sent = [dict(step.arguments), step.spread, step.card_text, cancel]
            found += [_Reading(one, step.pointer, index) for one in expressions_in(sent)]
            after = [
                *expressions_in(dict(step.outputs)),
                *(one for criterion in step.criteria for one in expressions_of(criterion)),
            ]
            found += [_Reading(one, f"{step.pointer}/outputs", index) for one in after]
            for action in step.actions:
                of_action = [
                    *(one for criterion in action.criteria for one in expressions_of(criterion)),
                    *expressions_in(dict(action.arguments)),
                ]
                found += [_Reading(one, step.pointer, index, True) for one in of_action]
        outputs = expressions_in(dict(self.workflow.outputs))
        return found + [_Reading(one, f"{self.workflow.pointer}/outputs") for one in outputs]

    def _may_have_ended(self, place: int, reading: _Reading) -> bool:
        if reading.step is None or reading.step in self._after[place]:
            return True
        return reading.is_after and place == reading.step

    @cached_property
    def _places(self) -> dict[str, int]:
        return {step.step_id: index for index, step in enumerate(self.workflow.steps)}

    @cached_property
    def _edges(self) -> list[set[int]]:
        edges: list[set[int]] = [set() for _ in self.workflow.steps]
        for index, step in enumerate(self.workflow.steps):
            succeeding = step.on_success
            if all(action.criteria for action in succeeding):
                edges[index] |= {index + 1} & set(range(len(edges)))
            for action in step.actions:
                target = self._places.get(action.step_id)
                if target is not None:
                    edges[index].add(target)
                    if action.kind == "retry":
                        edges[target].add(index)
                elif action.kind == "retry":
                    edges[index].add(index)
        return edges

    @cached_property
    def _after(self) -> list[set[int]]:
        """Return the steps that may come after each step, over any number of others."""
        return [_reached(self._edges, self._edges[index]) for index in range(len(self._edges))]

    def _check_flow(self, index: int, step: WrittenStep) -> Iterator[Finding]:
        if index and index not in self._after[0]:
            yield self._finding("ARZ014", step.pointer, f"nothing leads to step {step.step_id!r}")
        for action in step.actions:
            if action.retry_after_s > LONGEST_WAIT_S:
                reason = f"{action.name!r} waits for {LONGEST_WAIT_S:,.0f} seconds at most"
                yield self._finding("ARZ018", step.pointer, reason)
            target = self._places.get(action.step_id)
            if action.kind != "goto" or target is None or action.criteria:
                continue
            if index in self._after[target] | {target}:
                reason = (
                    f"the goto {action.name!r} leads back to {action.step_id!r} without criteria"
                )
                yield self._finding("ARZ012", step.pointer, reason)

    def _check_effect(self, index: int, step: WrittenStep) -> Iterator[Finding]:
        if not step.is_consequence:
            return
        for tool in (self.catalog.tools[name] for name in step.tools):
            if tool.effect is Effect.WRITE and step.cancel is None:
                reason = f"no declared tool cancels {tool.name}, which step {step.step_id!r} calls"
                yield self._finding("ARZ010", step.pointer, reason)
        # A failed call leaves no effect that a second pass would repeat.
        begins = {
            self._places[one.step_id] for one in step.on_success if one.step_id in self._places
        }
        begins |= {index + 1} & self._edges[index]
        if step.repeats == 1 and index in _reached(self._edges, begins):
            reason = f"step {step.step_id!r} is in a loop, and its effect is made once only"
            yield self._finding("ARZ013", step.pointer, reason)

    def _check_types(self, step: WrittenStep) -> Iterator[Finding]:
        target = step.workflow.inputs if step.workflow is not None else {}
        bindings = {}
        if step.tool:
            tool = self.catalog.tools[step.tool]
            target, bindings = tool.input_schema, {one.name: one for one in tool.bindings}
        required = required_of(target)
        optional = properties_of(self.workflow.inputs).keys() - {*required_of(self.workflow.inputs)}
        optional -= {n for n, s in properties_of(self.workflow.inputs).items() if "default" in s}
        for name, template in step.arguments.items():
            if not isinstance(template, str) or not is_expression(template):
                # Without a value, an optional input within a text is not left out.
                texts = json.dumps(template, ensure_ascii=False)
                for one in expressions_in(template):
                    if one.root == "inputs" and one.name in optional and f"{{{one.text}}}" in texts:
                        reason = f"{name!r} has {one.text} in its text, and it may be missing"
                        yield self._finding("ARZ017", step.pointer, reason)
                continue
            read = parse_runtime_expression(template)
            if read.root == "inputs" and read.name in optional and name in required:
                reason = f"{name!r} is required, and {template} may be missing"
                yield self._finding("ARZ017", step.pointer, reason)
            found = self._schema_read(read)
            given = _types(*found) if found is not None else frozenset[str]()
            taken = _types(properties_of(target).get(name, {}), target)
            if taken and name in bindings and bindings[name].location != "body":
                taken = taken | {"string", "integer", "number"}
            numbers = {"integer", "number"}
            are_numbers = bool(given & numbers and taken & numbers)
            if given and taken and given.isdisjoint(taken) and not are_numbers:
                kinds = [" or ".join(sorted(types)) for types in (given, taken)]
                reason = f"{template} is {kinds[0]}, and {name!r} is {kinds[1]}"
                yield self._finding("ARZ011", step.pointer, reason)

    def _schema_read(self, one: RuntimeExpression) -> tuple[JsonObject, JsonObject] | None:
        """Return the schema of a value with the root of its definitions; None if unknown."""
        if one.root == "inputs" and one.name in properties_of(self.workflow.inputs):
            schema = properties_of(self.workflow.inputs)[one.name]
            return _inside(schema, self.workflow.inputs, one.path)
        if one.root != "steps" or one.holder not in self._places:
            return None
        step = self.workflow.steps[self._places[one.holder]]
        template = step.outputs.get(one.name)
        if not isinstance(template, str) or not template.startswith("$response.body"):
            return None
        schema = self._answer_schema(step)
        return _inside(schema, schema, (*parse_runtime_expression(template).path, *one.path))

    def _answer_schema(self, step: WrittenStep) -> JsonObject:
        """Return the schema of a step's answer; empty if it has none."""
        return (
            (self.catalog.tools[step.tool].output_schema or {}) if step.tool else step.output_schema
        )


def _reached(edges: list[set[int]], begin: Iterable[int]) -> set[int]:
    found: set[int] = set()
    waiting = list(begin)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting += edges[place]
    return found


def _names(name: str, held: Mapping[str, JsonValue]) -> bool:
    """Return True if a name is one of these, or leads into the value of one."""
    return not name or any(name == one or name.startswith((f"{one}.", f"{one}[")) for one in held)


def _inside(
    schema: JsonObject, root: JsonObject, path: Iterable[str]
) -> tuple[JsonObject, JsonObject] | None:
    """Return the schema at the end of a path; None if it is not known."""
    for step in path:
        schema = resolve(schema, root)
        items = schema.get("items")
        if step in properties_of(schema):
            schema = properties_of(schema)[step]
        elif step.isdigit() and isinstance(items, dict):
            schema = items
        else:
            return None
    return schema, root


def _is_nowhere(root: JsonObject, path: tuple[str, ...]) -> bool:
    """Return True if an object on the way lists its properties, and the next is not one."""
    for length in range(len(path)):
        found = _inside(root, root, path[:length])
        if found is None:
            return False
        schema = resolve(found[0], root)
        if {"anyOf", "oneOf", "patternProperties", "items"} & schema.keys():
            continue
        if properties_of(schema) and path[length] not in properties_of(schema):
            return not schema.get("additionalProperties", False)
    return False


def _types(schema: JsonObject, root: JsonObject) -> frozenset[str]:
    """Return the types that a schema allows; empty if it does not list them."""
    stated = resolve(schema, root).get("type")
    listed = stated if isinstance(stated, list) else [stated]
    types = frozenset(one for one in listed if isinstance(one, str) and one != "null")
    known = {"string", "integer", "number", "boolean", "array", "object"}
    return types if types <= known else frozenset()
