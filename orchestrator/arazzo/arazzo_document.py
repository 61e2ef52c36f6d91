"""Arazzo documents, 1.0 and 1.1, read into models: components resolved, defaults merged in.

Reading refuses whatever can never run here, such as steps over AsyncAPI and XPath.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, TypeVar, cast
from urllib.parse import parse_qs

from jsonschema.exceptions import SchemaError
from pydantic import Field, JsonValue
from rapidfuzz import process

from orchestrator.arazzo.criteria import expressions_of
from orchestrator.arazzo.json_paths import parse_json_path
from orchestrator.arazzo.runtime_expressions import REPLACE, SELECT, expressions_in, is_expression
from orchestrator.arazzo.written import MOST_STEPS, Action, Criterion
from orchestrator.catalog.contract import is_credential
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import PatternUndecided, matches_pattern
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.validator import SchemaValidator

MOST_WORKFLOWS: Final = 200
_MOST_ELEMENTS: Final = 500
"""Elements of any other list."""
_VERSION = re.compile(r"1\.[01]\.[0-9]+(?:-[A-Za-z0-9.]+)?")
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_OUTPUT = re.compile(r"[A-Za-z0-9._-]{1,200}")
_INPUTS: Final = "#/components/inputs/"
_ASYNC: Final = {
    "channelPath": "a step over an AsyncAPI channel is not supported",
    "correlationId": "it belongs to steps over AsyncAPI, which are not supported",
    "action": "it belongs to steps over AsyncAPI, which are not supported",
}
_STEP: Final = frozenset(
    {"stepId", "description", "operationId", "operationPath", "workflowId", "parameters"}
    | {"requestBody", "successCriteria", "onSuccess", "onFailure", "outputs", "dependsOn"}
    | {"timeout"}
)
_WORKFLOW: Final = frozenset(
    {"workflowId", "summary", "description", "inputs", "dependsOn", "steps", "successActions"}
    | {"failureActions", "outputs", "parameters"}
)
GOAL: Final = "x-orchet-goal"
OUTPUTS: Final = "x-orchet-outputs"
ORDERS: Final = "x-orchet-orders"
AGENT: Final = "x-orchet-agent"
APPROVERS: Final = "x-orchet-approvers"
CARD_TYPE: Final = "x-orchet-requires-confirmation"
CARD_TEXT: Final = "x-orchet-card-text"
CANCEL: Final = "x-orchet-compensation"
STEP_EXTENSIONS: Final = frozenset(
    {"x-orchet-repeats", AGENT, GOAL, OUTPUTS, ORDERS, APPROVERS, CARD_TYPE, CARD_TEXT, CANCEL}
)
WORKFLOW_EXTENSIONS: Final = frozenset({AGENT, APPROVERS})
_CANCEL: Final = frozenset({"operationId", "operationPath", "parameters", "requestBody"})
_CALLED: Final = ("operationId", "operationPath", "workflowId", GOAL)
_ACTION: Final = frozenset({"name", "type", "workflowId", "stepId", "parameters", "criteria"})
_FAILURE: Final = _ACTION | {"retryAfter", "retryLimit"}
_T = TypeVar("_T")


class SourceDescription(Record):
    """A document that the workflows are written over."""

    name: str
    url: str
    type: Literal["openapi", "arazzo", "asyncapi"] = "openapi"
    pointer: str = ""


class GivenParameter(Record):
    """A parameter of a step, with a template as value."""

    name: str
    place: str = Field(default="", description="path, query, header or cookie; '' of a workflow")
    value: JsonValue
    is_inherited: bool = Field(default=False, description="True if its workflow gives it")
    pointer: str = ""


class GivenBody(Record):
    """A request body, with a template as payload."""

    content_type: str = ""
    payload: JsonValue = None
    replacements: tuple[JsonObject, ...] = ()
    pointer: str = ""


class GivenAction(Record):
    """An action, and the workflow that it names."""

    action: Action
    workflow_id: str = ""
    parameters: tuple[GivenParameter, ...] = ()
    pointer: str = ""


class DocumentStep(Record):
    """A step as written, with what its workflow states for all steps."""

    step_id: str
    description: str = ""
    operation_id: str = ""
    operation_path: str = ""
    workflow_id: str = ""
    parameters: tuple[GivenParameter, ...] = ()
    body: GivenBody | None = None
    criteria: tuple[Criterion, ...] = ()
    on_success: tuple[GivenAction, ...] = ()
    on_failure: tuple[GivenAction, ...] = ()
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    repeats: int = Field(default=1, ge=1)
    agent: str = ""
    goal: str = ""
    output_schema: JsonObject = Field(default_factory=dict)
    orders: tuple[str, ...] = ()
    timeout_s: float = 0
    card_type: str = ""
    card_text: str = ""
    approvers: tuple[str, ...] = ()
    cancel: "DocumentStep | None" = None
    """The step that cancels it: an operation with parameters and a body."""
    pointer: str = ""


class DocumentWorkflow(Record):
    """A workflow as written."""

    workflow_id: str
    summary: str = ""
    inputs: JsonObject = Field(default_factory=dict)
    steps: tuple[DocumentStep, ...]
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    pointer: str = ""


class ArazzoDocument(Record):
    """A document: `name` is that of its file, for errors."""

    name: str
    title: str = ""
    version: str = ""
    self_uri: str = ""
    sources: tuple[SourceDescription, ...]
    workflows: tuple[DocumentWorkflow, ...]

    def workflow(self, workflow_id: str) -> DocumentWorkflow | None:
        """Return the workflow of that id; None without one."""
        return next((one for one in self.workflows if one.workflow_id == workflow_id), None)


def parse_document(name: str, content: JsonObject) -> ArazzoDocument:
    """Read an Arazzo document of version 1.0 or 1.1.

    Raises:
        DocumentInvalid: it is none, or has a part that is not supported.
    """
    return _Reader(DocumentNode.of(name, content)).document()


class _Reader:
    def __init__(self, root: DocumentNode) -> None:
        self._root = root
        self._has_selectors = False

    def document(self) -> ArazzoDocument:
        root = self._root
        version = root.require("arazzo")
        if not _VERSION.fullmatch(version.text()):
            raise version.invalid(f"Arazzo 1.0 and 1.1 are read; it is {version.text()!r}")
        self._has_selectors = version.text().startswith("1.1")
        _check_fields(
            root,
            {"arazzo", "$self", "info", "sourceDescriptions", "workflows", "components", "$schema"},
        )
        info = root.require("info")
        info.require("title").text()
        return ArazzoDocument(
            name=root.document,
            title=info.text_at("title") or "",
            version=version.text(),
            self_uri=root.text_at("$self") or "",
            sources=_named_once(root.require("sourceDescriptions"), _source, "name"),
            workflows=_named_once(
                root.require("workflows"), self._workflow, "workflowId", MOST_WORKFLOWS
            ),
        )

    def _workflow(self, node: DocumentNode) -> DocumentWorkflow:
        _check_fields(node, _WORKFLOW, WORKFLOW_EXTENSIONS)
        shared = DocumentStep(
            step_id="",
            agent=node.text_at(AGENT) or "",
            approvers=node.texts_at(APPROVERS),
            parameters=self._parameters(node, is_inherited=True),
            on_success=self._actions(node.raw("successActions"), "successActions"),
            on_failure=self._actions(node.raw("failureActions"), "failureActions"),
        )
        return DocumentWorkflow(
            workflow_id=_id_at(node, "workflowId"),
            summary=node.text_at("summary") or node.text_at("description") or "",
            inputs=self._schema(node, "inputs"),
            steps=_named_once(
                node.require("steps"), lambda step: self._step(step, shared), "stepId", MOST_STEPS
            ),
            outputs=self._outputs(node),
            depends_on=node.texts_at("dependsOn"),
            pointer=node.pointer,
        )

    def _step(self, node: DocumentNode, shared: DocumentStep) -> DocumentStep:
        for name, why in _ASYNC.items():
            if (found := node.raw(name)) is not None:
                raise found.invalid(why, "take the field out")
        _check_fields(node, _STEP, STEP_EXTENSIONS)
        called = [field for field in _CALLED if node.raw(field)]
        if len(called) != 1:
            names = " and ".join(called) or "none"
            raise node.invalid(f"a step names one of {', '.join(_CALLED)}; it names {names}")
        goal = " ".join((node.text_at(GOAL) or "").split())
        if len(goal) > 4_000 or (called == [GOAL] and not goal):
            raise node.require(GOAL).invalid("a goal has from 1 to 4,000 characters")
        for field in (OUTPUTS, ORDERS) if not goal else ("requestBody",):
            if (extra := node.raw(field)) is not None:
                what = "no requestBody: give parameters" if goal else f"no {field}"
                raise extra.invalid(f"a step with{'' if goal else 'out'} {GOAL} has {what}")
        timeout = node.raw("timeout")
        if timeout is not None and not (_is_whole(timeout.value) and timeout.value > 0):  # type: ignore[operator]  # a whole number
            raise timeout.invalid("a timeout is a whole number of milliseconds")
        if timeout is not None and called[0] in ("workflowId", GOAL):
            raise timeout.invalid("a timeout is for a call; limits of agents are for others")
        repeats = node.raw("x-orchet-repeats")
        if repeats is not None and not (_is_whole(repeats.value) and 0 < repeats.value < 1000):  # type: ignore[operator]  # a whole number
            raise repeats.invalid("x-orchet-repeats is a whole number from 1 to 999")
        text = node.raw(CARD_TEXT)
        if text is not None and not 0 < len(text.text()) <= 1_000:
            raise text.invalid("a card's text has from 1 to 1,000 characters")
        cancel = node.raw(CANCEL)
        if cancel is not None:
            _check_fields(cancel, _CANCEL)
        actions = {
            field: self._actions(node.raw(field), kind)
            for field, kind in (("onSuccess", "successActions"), ("onFailure", "failureActions"))
        }
        return self._call(node, "stepId", shared.parameters).model_copy(
            update={
                "description": node.text_at("description") or "",
                "workflow_id": node.text_at("workflowId") or "",
                "criteria": self._criteria(node, "successCriteria"),
                "on_success": _overridden(actions["onSuccess"], shared.on_success, _action_name),
                "on_failure": _overridden(actions["onFailure"], shared.on_failure, _action_name),
                "outputs": self._outputs(node),
                "depends_on": node.texts_at("dependsOn"),
                "repeats": cast("int", repeats.value) if repeats is not None else 1,
                "agent": node.text_at(AGENT) or shared.agent,
                "timeout_s": cast("int", timeout.value) / 1000 if timeout is not None else 0,
                "card_type": node.text_at(CARD_TYPE) or "",
                "card_text": self._template(text) if text is not None else "",
                "approvers": node.texts_at(APPROVERS) or shared.approvers,
                "cancel": self._call(cancel, "", ()) if cancel is not None else None,
                "goal": goal,
                "output_schema": self._schema(node, OUTPUTS),
                "orders": node.texts_at(ORDERS),
            }
        )

    def _call(
        self, node: DocumentNode, id_field: str, shared: Iterable[GivenParameter]
    ) -> DocumentStep:
        body = node.raw("requestBody")
        return DocumentStep(
            step_id=_id_at(node, id_field) if id_field else "cancel",
            operation_id=node.text_at("operationId") or "",
            operation_path=node.text_at("operationPath") or "",
            parameters=_overridden(self._parameters(node), shared, _parameter_key),
            body=self._body(body) if body is not None else None,
            pointer=node.pointer,
        )

    def _schema(self, node: DocumentNode, field: str) -> JsonObject:
        written = node.raw(field)
        if written is None:
            return {}
        schema = cast("JsonObject", _with_local_refs(written, written.mapping()))
        shared = self._root.at("components", "inputs")
        if shared is not None and "#/$defs/" in str(schema):
            moved = {k: _with_local_refs(v, v.value) for k, v in shared.raw_items()}
            schema = {**schema, "$defs": {**moved, **cast("JsonObject", schema.get("$defs", {}))}}
        defined = cast("JsonObject", schema.get("$defs", {}))
        names = (ref.removeprefix("#/$defs/").split("/")[0] for ref in _references_in(schema))
        if missing := next((name for name in names if name not in defined), ""):
            raise written.invalid(f"no schema of components/inputs or $defs is called {missing!r}")
        try:
            SchemaValidator.check_schema(schema)
        except SchemaError as error:
            raise written.invalid(f"it is no JSON Schema: {error.message[:200]}") from None
        schema = resolve(schema, schema)
        # The defaults and types of inputs are read without their references.
        declared = schema.get("properties")
        held = declared.items() if isinstance(declared, dict) else ()
        inner: JsonObject = {k: resolve(v, schema) if isinstance(v, dict) else v for k, v in held}
        return {**schema, "properties": inner} if inner else schema

    def _parameters(
        self, node: DocumentNode, *, is_inherited: bool = False
    ) -> tuple[GivenParameter, ...]:
        listed = node.raw("parameters")
        found = [
            one
            for place in _elements(listed, _MOST_ELEMENTS)
            for one in _each_of_query(place, self._parameter(place, is_inherited))
        ]
        for (name, _), count in Counter(map(_parameter_key, found)).items():
            if count > 1:
                raise node.require("parameters").invalid(f"the parameter {name!r} is there twice")
        return tuple(found)

    def _parameter(self, place: DocumentNode, is_inherited: bool) -> GivenParameter:
        node, override = self._component(place, "parameters")
        _check_fields(node, {"name", "in", "value"})
        where = node.text_at("in") or ""
        if where not in ("", "path", "query", "querystring", "header", "cookie"):
            reason = f"a parameter is in path, query, header or cookie, not in {where!r}"
            raise node.invalid(reason, "give a body by requestBody" if where == "body" else "")
        value = override if override is not None else node.raw("value")
        if value is None:
            raise node.invalid("'value' is missing")
        is_constant = isinstance(value.value, str) and "$" not in value.value
        named = node.text_at("in") in ("header", "query", "cookie")
        if is_constant and named and is_credential(node, DocumentNode.of("", {})):
            raise value.invalid(
                "a credential is written here, and documents are kept in histories",
                "take the parameter out: credentials are attached from the configured secrets",
            )
        return GivenParameter(
            name=node.require("name").text(),
            place=where,
            value=self._template(value),
            is_inherited=is_inherited,
            pointer=place.pointer,
        )

    def _component(
        self, place: DocumentNode, kind: str
    ) -> tuple[DocumentNode, DocumentNode | None]:
        """Return the object that a reusable object means, and the value that it sets."""
        reference = place.raw("reference")
        if reference is None:
            return place, None
        prefix = f"$components.{kind}."
        name = reference.text().removeprefix(prefix)
        found = self._root.at("components", kind, name)
        if not reference.text().startswith(prefix) or found is None:
            raise reference.invalid(f"{reference.text()!r} names none of the components/{kind}")
        return found, place.raw("value")

    def _body(self, node: DocumentNode) -> GivenBody:
        _check_fields(node, {"contentType", "payload", "replacements"})
        replacements: list[JsonObject] = []
        for one in _elements(node.raw("replacements"), _MOST_ELEMENTS):
            _check_fields(one, {"target", "value", "targetSelectorType"})
            target, kind = one.require("target"), _selector_type(one, "targetSelectorType")
            if kind == "jsonpath":
                _checked(target, parse_json_path)
            elif target.text() and not target.text().startswith("/"):
                raise target.invalid("it is no JSON pointer; an XPath is not supported")
            value = one.raw("value")
            if value is None:
                raise one.invalid("'value' is missing")
            template = self._template(value)
            replacements.append({"target": target.text(), "type": kind, "value": template})
        payload = node.raw("payload")
        return GivenBody(
            content_type=node.text_at("contentType") or "",
            payload=self._template(payload) if payload is not None else None,
            replacements=tuple(replacements),
            pointer=node.pointer,
        )

    def _criteria(self, node: DocumentNode, field: str) -> tuple[Criterion, ...]:
        listed = node.raw(field)
        found = tuple(map(_criterion, _elements(listed, _MOST_ELEMENTS)))
        if listed is not None and not found and field == "successCriteria":
            raise listed.invalid("it has no element, and one at least is wanted", "take it out")
        return found

    def _actions(self, listed: DocumentNode | None, kind: str) -> tuple[GivenAction, ...]:
        actions = [self._action(one, kind) for one in _elements(listed, _MOST_ELEMENTS)]
        names = [one.action.name for one in actions]
        if listed is not None and len({*names}) < len(names):
            raise listed.invalid("two actions have the same name")
        return tuple(actions)

    def _action(self, place: DocumentNode, kind: str) -> GivenAction:
        node, _ = self._component(place, kind)
        is_failure = kind == "failureActions"
        _check_fields(node, _FAILURE if is_failure else _ACTION)
        type_ = node.require("type")
        if type_.text() not in (("end", "goto", "retry") if is_failure else ("end", "goto")):
            raise type_.invalid(f"no such action: {type_.text()!r}")
        step_id, workflow_id = node.text_at("stepId") or "", node.text_at("workflowId") or ""
        if step_id and workflow_id:
            raise node.invalid("an action names a stepId or a workflowId, not both")
        if type_.text() == "goto" and not (step_id or workflow_id):
            raise node.invalid("a goto names a stepId or a workflowId")
        after, limit = node.raw("retryAfter"), node.raw("retryLimit")
        is_number = after is not None and type(after.value) in (int, float)
        if after is not None and not (is_number and cast("float", after.value) >= 0):
            raise after.invalid("retryAfter is a number of seconds")
        if limit is not None and not (_is_whole(limit.value) and limit.value >= 0):  # type: ignore[operator]  # a whole number
            raise limit.invalid("retryLimit is a whole number")
        name = node.require("name").text()
        if not re.fullmatch(r"[A-Za-z0-9._ -]{1,200}", name):
            raise node.require("name").invalid("a name has letters, digits and -_. alone")
        return GivenAction(
            action=Action(
                name=name,
                kind=cast('Literal["end", "goto", "retry"]', type_.text()),
                step_id=step_id,
                retry_after_s=cast("float", after.value) if after is not None else 0,
                retry_limit=cast("int", limit.value) if limit is not None else 1,
                criteria=self._criteria(node, "criteria"),
            ),
            workflow_id=workflow_id,
            parameters=self._parameters(node),
            pointer=place.pointer,
        )

    def _outputs(self, node: DocumentNode) -> dict[str, JsonValue]:
        outputs = node.raw("outputs")
        given: dict[str, JsonValue] = {}
        for name, value in outputs.raw_items() if outputs is not None else ():
            if not _OUTPUT.fullmatch(name):
                raise value.invalid("the name of an output has letters, digits, ., - and _ alone")
            template = given[name] = self._template(value)
            is_selector = isinstance(template, dict) and template.keys() == {SELECT}
            if not isinstance(template, str) and not is_selector:
                raise value.invalid(
                    "an output is an expression, or a Selector Object of Arazzo 1.1"
                )
        return given

    def _template(self, node: DocumentNode) -> JsonValue:
        """Return a value as a template, its expressions checked."""
        template = self._with_selectors(node)
        _checked(node, lambda _: list(expressions_in(template)))
        return template

    def _with_selectors(self, node: DocumentNode) -> JsonValue:
        if isinstance(node.value, list):
            return [self._with_selectors(one) for one in node.raw_elements()]
        if not isinstance(node.value, dict):
            return node.value
        if node.value.keys() & {SELECT, REPLACE}:
            raise node.invalid(f"a property cannot be called {SELECT} or {REPLACE}")
        if self._has_selectors and node.value.keys() == {"context", "selector", "type"}:
            kind, selector = _selector_type(node, "type"), node.require("selector")
            if kind == "jsonpath" and "{$" not in selector.text():
                _checked(selector, parse_json_path)
            context = node.require("context").text()
            return {SELECT: {"context": context, "selector": selector.text(), "type": kind}}
        return {name: self._with_selectors(one) for name, one in node.raw_items()}


def _each_of_query(place: DocumentNode, given: GivenParameter) -> Iterable[GivenParameter]:
    """Return the query parameters of a whole query string, an object or text; others as they are.

    A text is split before values are put in: no value becomes a parameter of its own.
    """
    if given.place != "querystring":
        return [given]
    value = given.value
    if isinstance(value, str) and not is_expression(value):
        value = fields_of(value.removeprefix("?"))
    if not isinstance(value, dict) or value.keys() & {SELECT, REPLACE}:
        raise place.invalid("a whole query is an object, or a text such as a=1&b=2")
    if len(value) > _MOST_ELEMENTS:
        raise place.invalid(f"it has more than {_MOST_ELEMENTS} parameters")
    own = {"place": "query"}
    return [given.model_copy(update={**own, "name": k, "value": v}) for k, v in value.items()]


def fields_of(text: str) -> JsonObject:
    """Return the fields of a query string or a form; a repeated one is a list."""
    listed = parse_qs(text, keep_blank_values=True)
    return {name: [*held] if len(held) > 1 else held[0] for name, held in listed.items()}


def _source(node: DocumentNode) -> SourceDescription:
    _check_fields(node, {"name", "url", "type"})
    kind = node.text_at("type") or "openapi"
    if kind not in ("openapi", "arazzo", "asyncapi"):
        raise node.invalid(f"no such type of a source: {kind!r}", "openapi and arazzo are read")
    return SourceDescription(
        name=_id_at(node, "name"),
        url=node.require("url").text(),
        type=cast('Literal["openapi", "arazzo", "asyncapi"]', kind),
        pointer=node.pointer,
    )


def _criterion(node: DocumentNode) -> Criterion:
    _check_fields(node, {"condition", "context", "type"})
    condition, kind = node.require("condition"), node.raw("type")
    name = "simple"
    if kind is not None:
        is_plain = isinstance(kind.value, str) and kind.value in ("simple", "regex")
        name = kind.text() if is_plain else _selector_type(node, "type")
    if name == "jsonpointer":
        raise node.invalid("a criterion is simple, a regex or a JSONPath")
    if name != "simple" and node.raw("context") is None:
        raise node.invalid(f"a criterion of the type {name} has a context")
    criterion = Criterion(
        condition=condition.text(),
        type=cast('Literal["simple", "regex", "jsonpath"]', name),
        context=node.text_at("context") or "",
    )
    _checked(condition, lambda _: expressions_of(criterion))
    if "{$" not in criterion.condition and name == "jsonpath":
        _checked(condition, parse_json_path)
    if "{$" not in criterion.condition and name == "regex":
        pattern = criterion.condition
        try:
            matches_pattern(pattern, "")
        except PatternUndecided as undecided:
            raise condition.invalid(str(undecided)) from None
        except ValueError:
            reason = f"{pattern!r} is no regular expression of ECMAScript"
            raise condition.invalid(reason) from None
    return criterion


def _selector_type(node: DocumentNode, field: str) -> str:
    """Return the type of a selector, which may be an Expression Type Object."""
    written = node.raw(field)
    if written is None:
        return "jsonpointer"
    named = written.raw("type") if isinstance(written.value, dict) else written
    kind = named.text() if named is not None else ""
    version = (written.text_at("version") if isinstance(written.value, dict) else "") or ""
    if kind == "xpath":
        raise written.invalid("XPath is not supported", "use JSONPath or a JSON pointer")
    if kind not in ("jsonpath", "jsonpointer"):
        raise written.invalid(f"no such type: {kind!r}", "jsonpath and jsonpointer are supported")
    text = str((node.raw("condition") or node.raw("selector") or node.require("target")).value)
    if version.startswith("draft-goessner") and re.search(r"\.length\b|\[\(", text):
        raise written.invalid(
            "this JSONPath is one of Goessner's draft alone",
            "write it by RFC 9535, with length() and filters without a script",
        )
    return kind


def _checked(node: DocumentNode, read: Callable[[str], object]) -> None:
    try:
        read(node.value if isinstance(node.value, str) else "")
    except ValueError as error:
        raise node.invalid(str(error)) from None


def _with_local_refs(node: DocumentNode, value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_with_local_refs(node, one) for one in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    changed = {name: _with_local_refs(node, one) for name, one in value.items()}
    if isinstance(reference, str):
        if not reference.startswith((_INPUTS, "#/$defs/")):
            reason = f"the reference {reference!r} is not followed"
            raise node.invalid(reason, "put the schema under components/inputs")
        changed["$ref"] = reference.replace(_INPUTS, "#/$defs/", 1)
    return changed


def _references_in(value: JsonValue) -> Iterator[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _references_in(one)
    if isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
        yield reference


def _check_fields(node: DocumentNode, known: Iterable[str], extensions: Iterable[str] = ()) -> None:
    """Refuse unknown fields, and extensions of ours that would have no effect."""
    for field in node.mapping():
        is_ours = field.startswith("x-orchet-")
        if field in known or field in extensions or (field.startswith("x-") and not is_ours):
            continue
        near = process.extractOne(field, [*known, *extensions], score_cutoff=70)
        raise node.invalid(
            f"{field!r} is no field here", f"did you mean {near[0]}?" if near else "take it out"
        )


def _elements(listed: DocumentNode | None, most: int) -> list[DocumentNode]:
    found = list(listed.raw_elements()) if listed is not None else []
    if len(found) > most and listed is not None:
        raise listed.invalid(f"it has {len(found):,} elements, and at most {most:,} are read")
    return found


def _named_once(
    listed: DocumentNode, read: Callable[[DocumentNode], _T], field: str, most: int = _MOST_ELEMENTS
) -> tuple[_T, ...]:
    places = _elements(listed, most)
    if not places:
        raise listed.invalid("it has no element, and one at least is wanted")
    seen: set[str] = set()
    for place in places:
        name = place.require(field).text()
        if name in seen:
            raise place.invalid(f"another {field} is {name!r}", "give each a name of its own")
        seen.add(name)
    return tuple(map(read, places))


def _id_at(node: DocumentNode, field: str) -> str:
    found = node.require(field)
    if not _ID.fullmatch(found.text()):
        raise found.invalid(f"a {field} has letters, digits, - and _ alone")
    return found.text()


def _overridden(
    own: Iterable[_T], shared: Iterable[_T], key: Callable[[_T], object]
) -> tuple[_T, ...]:
    taken = tuple(own)
    keys = set(map(key, taken))
    return (*taken, *(one for one in shared if key(one) not in keys))


def _action_name(one: GivenAction) -> str:
    return one.action.name


def _parameter_key(one: GivenParameter) -> tuple[str, str]:
    return one.name.lower() if one.place == "header" else one.name, one.place


def _is_whole(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
