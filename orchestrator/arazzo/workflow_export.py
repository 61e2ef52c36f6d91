"""Calls that were made, written as an Arazzo document that makes them again.

A value of an argument is, in this order: a personal field or an input of the request, text of the
goal, a value of an earlier answer, or a constant. The first three become inputs of the workflow
with the value as default, the fourth an expression over the step that gave it.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final
from urllib.parse import quote

import yaml
from pydantic import Field, JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.operations import operations
from orchestrator.catalog.tool import Tool
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.pii import field_of, handle_for
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import format_pointer

_TYPES: Final = {
    bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"
}  # fmt: skip
_SHORTEST_ID: Final = 4
"""Characters from which a text or a number in an earlier answer is no coincidence."""
_LONGEST_TITLE: Final = 200
_MOST_VALUES: Final = 50_000
"""Values of an answer that are searched."""


class MadeCall(Record):
    """A call that succeeded."""

    leg_id: str = ""
    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    body: JsonValue = None


def as_yaml(document: JsonObject) -> str:
    """Return a document as YAML that is read back as the same values."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    try:
        is_same = load_yaml(text) == document
    except ValueError:
        is_same = False
    # PyYAML writes YAML 1.1, in which some texts need no quotes that 1.2 needs; JSON is YAML too.
    return text if is_same else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def export_document(
    calls: Sequence[MadeCall],
    catalog: Catalog,
    *,
    goal: str,
    inputs: JsonObject,
    written: JsonObject | None = None,
) -> JsonObject:
    """Return an Arazzo 1.0.1 document with one workflow that makes the calls in their order.

    Args:
        calls: that succeeded, the oldest first.
        catalog: with their tools; calls of other tools are left out.
        goal: of the mission; its words become inputs.
        inputs: of the request.
        written: the workflow that ran, if the mission was a written one.
    """
    exporter = _Exporter(catalog, goal, inputs)
    known = [call for call in calls if call.tool in catalog.tools]
    steps: list[JsonValue] = [exporter.step(call) for call in known]
    workflow: JsonObject = {"workflowId": "mission", "summary": _short(goal)}
    if exporter.inputs:
        workflow["inputs"] = {"type": "object", "properties": exporter.inputs}
    workflow["steps"] = [exporter.with_outputs(step) for step in steps]
    documents = dict.fromkeys(catalog.tools[call.tool].document for call in known)
    sources: list[JsonValue] = [
        {"name": _id(one), "url": f"./{quote(one)}.yaml", "type": "openapi"} for one in documents
    ]
    text = "Each call that was made is a step: conditions and lists are not in it."
    if lost := sorted(set(_extensions(written))):
        text += f" Nor are {', '.join(lost)} of the workflow that ran: state them again."
    return {
        "arazzo": "1.0.1",
        "info": {"title": _short(goal), "description": text, "version": "1.0.0"},
        "sourceDescriptions": sources,
        "workflows": [workflow],
    }


def _extensions(value: JsonValue) -> Iterator[str]:
    """Yield the fields for which Arazzo has no words."""
    if isinstance(value, list):
        for one in value:
            yield from _extensions(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name.startswith("x-orchet-"):
                yield name
            else:
                yield from _extensions(one)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_TITLE else f"{flat[: _LONGEST_TITLE - 3]}..."


def _id(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "x"


def _free_id(text: str, taken: Collection[str]) -> str:
    numbered = (f"{_id(text)}_{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (_id(text), *numbered) if one not in taken)


class _Exporter:
    def __init__(self, catalog: Catalog, goal: str, inputs: JsonObject) -> None:
        self._catalog = catalog
        self._goal = goal
        self._given = inputs
        self.inputs: JsonObject = {}
        self._lifted: dict[str, str] = {}
        """Name of the input by the JSON of its value."""
        self._answers: list[tuple[str, dict[str, list[tuple[str, ...]]]]] = []
        """Of each step its id, and the places of each value by its JSON."""
        self._outputs: dict[str, JsonObject] = {}

    def step(self, call: MadeCall) -> JsonObject:
        """Return a call as a step, without outputs, which later steps may add."""
        tool = self._catalog.tools[call.tool]
        step_id = _free_id(call.tool, {made for made, _ in self._answers})
        step: JsonObject = {"stepId": step_id, **_operation(self._catalog, tool)}
        if tool.summary:
            step["description"] = tool.summary
        parameters: list[JsonValue] = []
        payload: JsonObject = {}
        whole: list[JsonValue] = []
        places = {one.name: one for one in tool.bindings}
        for name, value in call.arguments.items():
            if name in tool.reference_inputs:
                continue  # the orchestrator fills it again
            template = self._template(name, value)
            place = places.get(name)
            if place is not None and place.location != "body":
                parameters.append({"name": place.field, "in": place.location, "value": template})
            elif place is not None and not place.field:
                whole.append(template)
            else:
                payload[place.field if place is not None else name] = template
        if parameters:
            step["parameters"] = parameters
        if payload or whole:
            content = tool.body_content_type or "application/json"
            step["requestBody"] = {
                "contentType": content,
                "payload": whole[0] if whole else payload,
            }
        found: dict[str, list[tuple[str, ...]]] = {}
        for number, (path, value) in enumerate(_plain_values(call.body, ())):
            if number == _MOST_VALUES:
                break
            found.setdefault(json.dumps(value), []).append(path)
        self._answers.append((step_id, found))
        return step

    def with_outputs(self, step: JsonValue) -> JsonObject:
        """Return a step with the outputs that later steps read."""
        assert isinstance(step, dict)
        outputs = self._outputs.get(str(step["stepId"]))
        return {**step, "outputs": outputs} if outputs else step

    def _template(self, name: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str) and (personal := field_of(value)) is not None:
            return self._lift(personal, handle_for(personal))
        for given, held in self._given.items():
            if held == value and value not in (None, True, False):
                return self._lift(given, value)
        if isinstance(value, dict):
            return {key: self._template(key, one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._template(name, one) for one in value]
        if isinstance(value, str) and _is_said(value, self._goal):
            return self._lift(name, value)
        if (read := self._read(name, value)) is not None:
            return read
        is_read = isinstance(value, str) and (value.startswith("$") or "{$" in value)
        return self._lift(name, value) if is_read else value

    def _lift(self, name: str, value: JsonValue) -> str:
        """Return the expression of an input with this value as default; equal values share one."""
        key = json.dumps(value, sort_keys=True)
        if key not in self._lifted:
            free = self._lifted[key] = _free_id(name, self.inputs)
            self.inputs[free] = {"type": _TYPES[type(value)], "default": value}
        return f"$inputs.{self._lifted[key]}"

    def _read(self, name: str, value: JsonValue) -> str | None:
        """Return the expression of a value that an earlier answer holds; None without one.

        A property of the argument's name wins, then the newest answer.
        """
        key = json.dumps(value)
        found = [
            (path[-1:] == (name,), number, step_id, path)
            for number, (step_id, places) in enumerate(self._answers)
            for path in places.get(key, ())
        ]
        is_telling = isinstance(value, str | int | float) and not isinstance(value, bool)
        if not is_telling or len(str(value)) < _SHORTEST_ID:
            found = [one for one in found if one[0] and is_telling]
        if not found:
            return None
        _, _, step_id, path = max(found, key=lambda one: (one[0], one[1], -len(one[3])))
        outputs = self._outputs.setdefault(step_id, {})
        expression = f"$response.body#{format_pointer(path)}"
        output = next((known for known, held in outputs.items() if held == expression), "")
        if not output:
            named = [step for step in path if not step.isdigit()]
            output = _free_id("_".join(named[-2:]), outputs)
            outputs[output] = expression
        return f"$steps.{step_id}.outputs.{output}"


def _operation(catalog: Catalog, tool: Tool) -> JsonObject:
    source = f"$sourceDescriptions.{_id(tool.document)}"
    content = catalog.documents.get(tool.document)
    found = operations(DocumentNode.of(tool.document, content)) if content is not None else ()
    ids = [one.operation_id for one in found if (one.path, one.method) == (tool.path, tool.method)]
    if content is None or (ids and ids[0]):
        return {"operationId": f"{source}.{ids[0] if ids else tool.name}"}
    pointer = format_pointer(("paths", tool.path, tool.method.lower()))
    return {"operationPath": f"{{{source}.url}}#{pointer}"}


def _is_said(value: str, goal: str) -> bool:
    at = goal.casefold().find(value.casefold())
    if not value.strip() or at < 0:
        return False
    around = goal[max(at - 1, 0) : at] + goal[at + len(value) : at + len(value) + 1]
    return not any(character.isalnum() for character in around)


def _plain_values(
    value: JsonValue, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _plain_values(one, (*path, name))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _plain_values(one, (*path, str(index)))
    else:
        yield path, value
