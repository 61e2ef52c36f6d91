"""Arguments of a step: parameters and payload placed by the bindings of its tool, and checked."""

import json
import re
from typing import Final, cast

from pydantic import JsonValue

from orchestrator.arazzo.arazzo_document import (
    DocumentStep,
    GivenBody,
    GivenParameter,
    fields_of,
)
from orchestrator.arazzo.criteria import expressions_of
from orchestrator.arazzo.json_paths import EMBEDDED, ValueMissing, replaced
from orchestrator.arazzo.runtime_expressions import (
    REPLACE,
    SELECT,
    RuntimeExpression,
    expressions_in,
    is_expression,
    parse_runtime_expression,
)
from orchestrator.arazzo.written import CallShape, WrittenStep
from orchestrator.catalog.arguments import by_text
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.contract import is_credential
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.pii import handle_for, handles_in
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.references import format_pointer, with_definitions
from orchestrator.json_schema.validation import SCHEMA_FAULTS, describe_violations, unknown_name
from orchestrator.json_schema.validator import REQUEST_FORMATS, SchemaValidator

FUNCTIONS: Final = frozenset({"python", "functions"})
"""Documents of Python functions and of plain function schemas."""
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class StepArguments:
    """The arguments of one step, as templates."""

    def __init__(self, catalog: Catalog, tool: Tool, document: str) -> None:
        """Take the tool, and the name of the Arazzo document for errors."""
        self._tool = tool
        self._document = document
        content = catalog.documents.get(tool.document, {})
        self._root = DocumentNode.of(tool.document, content)
        self.arguments: JsonObject = {}
        self.spread: JsonValue = None
        self.spread_names: dict[str, str] = {}
        self.notes: list[str] = []
        """Parameters without effect, each with the reason."""

    def _invalid(self, pointer: str, reason: str, remedy: str = "") -> DocumentInvalid:
        return DocumentInvalid(self._document, pointer, reason, remedy)

    def add(self, given: GivenParameter) -> bool:
        """Place a parameter; return False if the step does not take it.

        Raises:
            DocumentInvalid: the tool has no such parameter.
        """
        name, place, tool = given.name, given.place, self._tool
        is_function = tool.document in FUNCTIONS
        for one in tool.bindings:
            is_header = place == "header" and one.field.lower() == name.lower()
            if one.location == place and (one.field == name or is_header):
                self.arguments[one.name] = given.value
                return True
        if is_function and name in tool.properties:
            self.arguments[name] = given.value
            return True
        # Parameters that the orchestrator fills itself.
        why = ""
        written = DocumentNode.of("", {"name": name, "in": place or "body"})
        of_http = ("accept", "content-type", "content-length", "host")
        if place == "header" and name.lower() in of_http:
            why = "HTTP's own headers follow from the document of the tool"
        elif tool.reads_key(place, name):
            why = "the idempotency key is the orchestrator's"
        elif place and is_credential(written, self._root):
            why = "credentials are attached when the call is sent, from the configured secrets"
        if why:
            self.notes.append(f"the parameter {name!r} has no effect: {why}")
            return True
        if given.is_inherited:
            return False
        if not place and not is_function:
            raise self._invalid(given.pointer, "'in' is missing", "write path, query or header")
        known = [one.field for one in tool.bindings if one.location == place]
        what = f"no {f'{place} parameter' if place else 'input'} of {tool.name}"
        reason = unknown_name(name, known or tool.properties)
        raise self._invalid(given.pointer, reason.replace("no input here", what))

    def add_body(self, body: GivenBody) -> None:
        """Place the payload.

        Raises:
            DocumentInvalid: the tool takes no body, or no such one.
        """
        tool = self._tool
        properties = {one.field: one.name for one in tool.bindings if one.location == "body"}
        if tool.document in FUNCTIONS and not properties:
            properties = {name: name for name in tool.properties}
        if not properties:
            raise self._invalid(body.pointer, f"{tool.name} takes no request body")
        stated, sent = (
            text.partition(";")[0].strip().lower()
            for text in (body.content_type, tool.body_content_type or "")
        )
        if stated and sent and stated != sent:
            if isinstance(body.payload, str):
                reason = f"{tool.name} is sent {sent}, and not {stated}"
                raise self._invalid(f"{body.pointer}/contentType", reason)
            self.notes.append(f"the contentType {stated} has no effect: {sent} is sent")
        payload = self._payload(body)
        if "" in properties:
            self.arguments[properties[""]] = payload
            return
        is_read = isinstance(payload, str) and is_expression(payload)
        if is_read or (isinstance(payload, dict) and payload.keys() & {SELECT, REPLACE}):
            self.spread = payload
            self.spread_names = {field: n for field, n in properties.items() if field != n}
            return
        if not isinstance(payload, dict):
            reason = f"{tool.name} takes an object as payload"
            raise self._invalid(f"{body.pointer}/payload", reason)
        for name, value in payload.items():
            if tool.reads_key("body", name):
                why = "the idempotency key is the orchestrator's"
                self.notes.append(f"the property {name!r} has no effect: {why}")
            elif name in properties:
                self.arguments[properties[name]] = value
            else:
                reason = unknown_name(name, properties)
                of = f"no property of the body of {tool.name}"
                reason = reason.replace("no input here", of)
                raise self._invalid(f"{body.pointer}/payload", reason)

    def _payload(self, body: GivenBody) -> JsonValue:
        """Return the payload as a structure, if it is written as the text of one."""
        payload, kind = body.payload, body.content_type or self._tool.body_content_type or ""
        if isinstance(payload, str) and not is_expression(payload):
            if "json" in kind:
                try:
                    payload = cast("JsonValue", json.loads(_with_quoted_expressions(payload)))
                except ValueError as error:
                    reason = f"the payload is no JSON: {error}"
                    raise self._invalid(f"{body.pointer}/payload", reason) from None
            elif "x-www-form-urlencoded" in kind:
                payload = fields_of(payload.strip())
        if not body.replacements:
            return payload
        if isinstance(payload, str) or (isinstance(payload, dict) and payload.keys() == {SELECT}):
            held: JsonObject = {"payload": payload, "replacements": list(body.replacements)}
            return {REPLACE: held}
        payload = json.loads(json.dumps(payload if payload is not None else {}))
        for index, one in enumerate(body.replacements):
            try:
                payload = replaced(payload, one, one["value"])
            except ValueMissing as missing:
                pointer = f"{body.pointer}/replacements/{index}/target"
                raise self._invalid(pointer, str(missing)) from None
        return payload

    def check(self, pointer: str) -> None:
        """Check that required inputs are given, and the type of each constant.

        Raises:
            DocumentInvalid: naming the step.
        """
        tool = self._tool
        for name in tool.pii_fields:
            if name in tool.required_inputs and self.spread is None:
                self.arguments.setdefault(name, handle_for(name))
        if self.spread is None:
            given = {*self.arguments, *tool.reference_inputs}
            if missing := [name for name in tool.required_inputs if name not in given]:
                reason = f"{tool.name} needs {', '.join(map(repr, missing))}, which it is not given"
                raise self._invalid(pointer, reason)
        for name, value in by_text(tool, self.arguments).items():
            if any(True for _ in expressions_in(value)) or handles_in(value):
                continue
            schema = with_definitions(tool.properties.get(name, {}), tool.input_schema)
            validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
            try:
                faults = describe_violations(validator.iter_errors(value))
            except (PatternUndecided, *SCHEMA_FAULTS):
                continue  # the check of the call, before it is sent, reports it
            if faults:
                raise self._invalid(pointer, f"its {name!r} does not fit {tool.name}: {faults[0]}")


def _with_quoted_expressions(text: str) -> str:
    """Return JSON text with expressions outside of strings written as strings."""

    def quoted(part: str) -> str:
        return EMBEDDED.sub(lambda found: json.dumps(found[1]), part)

    pieces, at = [], 0
    for found in _JSON_STRING.finditer(text):
        pieces += [quoted(text[at : found.start()]), found[0]]
        at = found.end()
    return "".join((*pieces, quoted(text[at:])))


def as_filling(template: JsonValue) -> JsonValue:
    """Return an argument of a cancel by the contract's grammar of its own call and answer.

    Raises:
        ValueError: it mixes them with other values, or has them inside of a structure.
    """
    read = list(expressions_in(template))
    own = [one for one in read if one.root in ("request", "response")]
    if not own:
        return template
    if not isinstance(template, str) or len(own) < len(read):
        raise ValueError("an argument of a cancel is one value of the step's request and answer")

    def written(one: RuntimeExpression) -> str:
        inside = f"#{format_pointer(one.path)}" if one.holder == "body" else f".{one.name}"
        return f"${one.root}.{one.holder}{inside}"

    if is_expression(template):
        return written(own[0])
    return EMBEDDED.sub(
        lambda found: f"{{{written(parse_runtime_expression(found[1]))}}}", template
    )


def call_shape(tool: Tool) -> CallShape:
    """Return where the arguments of a tool stand in its request."""
    places = {one.name: f"{one.location}:{one.field}" for one in tool.bindings}
    server = tool.server
    for name, value in tool.server_variables.items():
        server = server.replace(f"{{{name}}}", value)
    return CallShape(method=tool.method, url=f"{server}{tool.path}", places=places)


def reads_request(step: WrittenStep, written: DocumentStep) -> bool:
    """Return True if an expression of a step reads its request."""
    criteria = [*step.criteria, *(one for action in step.actions for one in action.criteria)]
    found: list[RuntimeExpression] = [
        *expressions_in(dict(step.outputs)),
        *(expression for one in criteria for expression in expressions_of(one)),
        *(
            expression
            for action in (*written.on_success, *written.on_failure)
            for one in action.parameters
            for expression in expressions_in(one.value)
        ),
    ]
    return any(one.root in ("request", "url", "method") for one in found)
