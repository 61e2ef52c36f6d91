"""Workflows bound to the tools of a catalog: operations found, arguments placed and checked."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from orchestrator.arazzo.arazzo_document import (
    CARD_TYPE,
    ORDERS,
    ArazzoDocument,
    DocumentStep,
    DocumentWorkflow,
    GivenAction,
    GivenParameter,
    SourceDescription,
)
from orchestrator.arazzo.json_paths import EMBEDDED
from orchestrator.arazzo.step_arguments import (
    FUNCTIONS,
    StepArguments,
    as_filling,
    call_shape,
    reads_request,
)
from orchestrator.arazzo.written import MOST_STEPS, Action, WrittenStep, WrittenWorkflow
from orchestrator.catalog.card_types import CARD_TYPES, DEFAULT_CARD
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.operations import Operation, operations
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.call_ref import StatedCancel
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import format_pointer, parse_pointer
from orchestrator.json_schema.validation import unknown_name
from orchestrator.json_schema.walker import properties_of

_MOST_NESTED: Final = 10
"""Levels of workflows that call workflows."""
_SOURCE = re.compile(r"\$sourceDescriptions\.(?P<name>[A-Za-z0-9_-]+)\.(?P<rest>.+)", re.DOTALL)
_PATH = re.compile(r"(?P<source>.*?)#(?P<pointer>/.*)", re.DOTALL)
_CONSTANT = re.compile(r"\$self\b|\$sourceDescriptions\.[A-Za-z0-9_-]+\.(?:url|type|name)\b")
_FOREIGN_OUTPUT = re.compile(r"\$sourceDescriptions\.([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.outputs\.)")
_STEP_ELSEWHERE = re.compile(
    r"(?:\$workflows\.|(?=\$sourceDescriptions\.))(?P<workflow>.+)\.steps\.(?P<step>[^.]+)"
)

Sources = Mapping[str, "str | ArazzoDocument"]
"""By name or URL of a source description: the catalog's document of that name, or a document."""


def bind(
    document: ArazzoDocument, workflow_id: str, catalog: Catalog, sources: Sources | None = None
) -> tuple[WrittenWorkflow, ...]:
    """Return a workflow and all that it depends on, those first, bound to the catalog's tools.

    Args:
        document: with the workflow.
        workflow_id: empty: the document's only workflow.
        catalog: with the tools.
        sources: what source descriptions mean; those without an entry are found by name or URL.

    Raises:
        DocumentInvalid: a part is not supported, fits no tool, or could not be evaluated.
    """
    from orchestrator.arazzo.workflow_lint import lint_workflows  # the linter loads slowly

    bound, faults = bind_leniently(document, workflow_id, catalog, sources)
    if faults:
        raise faults[0]
    for finding in lint_workflows(bound, catalog):
        if finding.severity == "error":
            raise DocumentInvalid(finding.document, finding.pointer, finding.message, finding.fix)
    return bound


def bind_leniently(
    document: ArazzoDocument, workflow_id: str, catalog: Catalog, sources: Sources | None = None
) -> tuple[tuple[WrittenWorkflow, ...], tuple[DocumentInvalid, ...]]:
    """Bind as `bind` does, leaving out steps at fault; return the faults too."""
    found = document.workflow(workflow_id)
    if not workflow_id and len(document.workflows) == 1:
        found = document.workflows[0]
    if found is None:
        known = ", ".join(one.workflow_id for one in document.workflows)
        reason = f"no workflow is called {workflow_id!r}" if workflow_id else "it has several"
        raise DocumentInvalid(document.name, "/workflows", reason, f"name one of {known}")
    binder = _Binder(catalog, sources or {})
    binder.add(document, found, "")
    return tuple(binder.bound.values()), tuple(binder.faults)


class _Binder:
    def __init__(self, catalog: Catalog, sources: Sources) -> None:
        self.catalog = catalog
        self._sources = sources
        self.bound: dict[str, WrittenWorkflow] = {}
        self.called: dict[str, WrittenWorkflow | None] = {}
        """Called workflows, each bound once: workflows that call each other often share them."""
        self.faults: list[DocumentInvalid] = []
        self._open: list[str] = []

    def add(self, document: ArazzoDocument, workflow: DocumentWorkflow, prefix: str) -> None:
        """Bind a workflow after all that it depends on."""
        key = f"{prefix}{workflow.workflow_id}"
        if key in self.bound:
            return
        if key in self._open:
            pointer = f"{workflow.pointer}/dependsOn"
            raise DocumentInvalid(document.name, pointer, f"{key!r} depends on itself")
        self._open.append(key)
        place = _Place(self, document, workflow, prefix, depth=0)
        depends_on = []
        for reference in place.dependencies():
            other, target, other_prefix = place.workflow_named(reference, "/dependsOn")
            self.add(other, target, other_prefix)
            depends_on.append(f"{other_prefix}{target.workflow_id}")
        self._open.pop()
        bound = place.bound(tuple(dict.fromkeys(depends_on)))
        if bound is not None:
            self.bound[key] = bound

    def source(self, one: SourceDescription) -> "str | ArazzoDocument | None":
        """Return what a source description means: a document of the catalog, or of Arazzo."""
        for key in (one.name, one.url):
            if key in self._sources:
                return self._sources[key]
        stem = PurePosixPath(unquote(urlsplit(one.url).path)).name.split(".")[0]
        return next((name for name in (stem, one.name) if name in self.documents), None)

    @cached_property
    def documents(self) -> frozenset[str]:
        """Names of the catalog's documents, and of those of functions."""
        of_tools = {tool.document for tool in self.catalog.tools.values()}
        return frozenset(of_tools.union(self.catalog.documents))


class _Place:
    """A workflow of a document while it is bound."""

    def __init__(
        self,
        binder: _Binder,
        document: ArazzoDocument,
        workflow: DocumentWorkflow,
        prefix: str,
        *,
        depth: int,
        within: tuple[str, ...] = (),
    ) -> None:
        self._binder = binder
        self._catalog = binder.catalog
        self._document = document
        self._workflow = workflow
        self._prefix = prefix
        self._depth = depth
        self._within = (*within, f"{document.name}#{workflow.workflow_id}")
        self._notes: list[str] = []
        self._taken: set[tuple[str, str]] = set()

    def invalid(self, pointer: str, reason: str, remedy: str = "") -> DocumentInvalid:
        """Return the error about a place of the document."""
        return DocumentInvalid(self._document.name, pointer, reason, remedy)

    def dependencies(self) -> list[str]:
        """Return the workflows that end before this one, as references."""
        of_steps = []
        for step in self._workflow.steps:
            for reference in (one for one in step.depends_on if one.startswith("$")):
                found, pointer = _STEP_ELSEWHERE.fullmatch(reference), f"{step.pointer}/dependsOn"
                named = found and self.workflow_named(found["workflow"], pointer)[1].steps
                if not found or found["step"] not in {one.step_id for one in named or ()}:
                    forms = "a stepId or $workflows.ID.steps.STEP"
                    raise self.invalid(pointer, f"{reference!r} names no step", f"write {forms}")
                of_steps.append(found["workflow"])
        return [*self._workflow.depends_on, *of_steps]

    def workflow_named(
        self, reference: str, at: str
    ) -> tuple[ArazzoDocument, DocumentWorkflow, str]:
        """Return the workflow of a reference, with its document and the prefix of its id."""
        pointer = at if at.startswith("/workflows") else f"{self._workflow.pointer}{at}"
        document, name, prefix = self._document, reference, self._prefix
        if found := _SOURCE.fullmatch(reference):
            source = self._source_named(found["name"], pointer)
            other = self._binder.source(source)
            if not isinstance(other, ArazzoDocument):
                reason = f"the Arazzo document {source.url!r} was not read"
                raise self.invalid(source.pointer, reason, "name its file in the sources")
            document, name, prefix = other, found["rest"], f"{found['name']}."
        target = document.workflow(name)
        if target is None:
            known = ", ".join(one.workflow_id for one in document.workflows)
            raise self.invalid(pointer, f"no workflow is called {name!r}", f"there are {known}")
        return document, target, prefix

    def _source_named(self, name: str, pointer: str) -> SourceDescription:
        found = next((one for one in self._document.sources if one.name == name), None)
        if found is None:
            known = ", ".join(one.name for one in self._document.sources)
            raise self.invalid(pointer, f"no source is called {name!r}", f"there are {known}")
        return found

    def bound(self, depends_on: tuple[str, ...] = ()) -> WrittenWorkflow | None:
        """Return the workflow bound; None if no step of it can be."""
        steps: list[WrittenStep] = []
        for step in self._ordered():
            try:
                steps.append(self._step(step))
            except DocumentInvalid as fault:
                self._binder.faults.append(fault)
        for step in self._workflow.steps[:1]:
            for one in step.parameters:
                key = (one.name, one.place)
                if one.is_inherited and one.place and key not in self._taken:
                    self._notes.append(f"the parameter {one.name!r} of the workflow has no effect")
        if not steps:
            return None
        bound = WrittenWorkflow(
            workflow_id=f"{self._prefix}{self._workflow.workflow_id}",
            summary=self._workflow.summary,
            inputs=self._workflow.inputs,
            steps=tuple(steps),
            outputs={k: self._constant(v) for k, v in self._workflow.outputs.items()},
            depends_on=depends_on,
            notes=tuple(dict.fromkeys(self._notes)),
            document=self._document.name,
            pointer=self._workflow.pointer,
        )
        if len(bound.called_steps()) > MOST_STEPS:
            reason = f"with the workflows that it calls it has more than {MOST_STEPS} steps"
            raise self.invalid(self._workflow.pointer, reason)
        return bound

    def _ordered(self) -> list[DocumentStep]:
        waiting, ordered = list(self._workflow.steps), list[DocumentStep]()
        known = {step.step_id for step in waiting}
        while waiting:
            done = {step.step_id for step in ordered}
            for step in waiting:
                own = [name for name in step.depends_on if not name.startswith("$")]
                if strange := [name for name in own if name not in known]:
                    pointer = f"{step.pointer}/dependsOn"
                    raise self.invalid(pointer, f"no step is called {strange[0]!r}")
                if done.issuperset(own):
                    break
            else:
                reason = "its steps depend on each other in a circle"
                raise self.invalid(self._workflow.pointer, reason)
            ordered.append(step)
            waiting.remove(step)
        return ordered

    def _step(self, step: DocumentStep) -> WrittenStep:
        common = WrittenStep(
            step_id=step.step_id,
            title=" ".join(step.description.split())[:200],
            repeats=step.repeats,
            timeout_s=step.timeout_s,
            agent=step.agent,
            criteria=step.criteria,
            on_success=tuple(self._action(one) for one in step.on_success),
            on_failure=tuple(self._action(one) for one in step.on_failure),
            outputs={name: self._constant(value) for name, value in step.outputs.items()},
            pointer=step.pointer,
        )
        if step.workflow_id:
            if step.body is not None:
                raise self.invalid(step.body.pointer, "a workflow takes parameters, and no body")
            called, arguments = self._called(step.workflow_id, step.parameters, step.pointer)
            # Many read a called workflow's outputs as the step's, next to outputs of its own.
            own = (f"$steps.{step.step_id}.outputs.", f"$workflows.{step.workflow_id}.outputs.")
            given: dict[str, JsonValue] = {name: f"$outputs.{name}" for name in called.outputs}
            for name, value in common.outputs.items():
                is_own = isinstance(value, str) and value.startswith(own)
                given[name] = (
                    f"$outputs.{str(value).partition('.outputs.')[2]}" if is_own else value
                )
            changes = {"workflow": called, "arguments": arguments, "outputs": given}
            return common.model_copy(update=changes)
        if step.goal:
            return self._of_goal(step, common)
        tool = self._tool(step)
        placed = self._placed(step, tool)
        self._notes += [f"step {step.step_id!r}: {note}" for note in placed.notes]
        return common.model_copy(
            update={
                "tool": tool.name,
                "arguments": placed.arguments,
                "spread": placed.spread,
                "spread_names": placed.spread_names,
                "request": call_shape(tool) if reads_request(common, step) else None,
                "is_consequence": tool.is_side_effect,
                **self._terms(step, tool),
            }
        )

    def _placed(self, step: DocumentStep, tool: Tool) -> StepArguments:
        placed = StepArguments(self._catalog, tool, self._document.name)
        for parameter in step.parameters:
            value = self._constant(parameter.value)
            if placed.add(parameter.model_copy(update={"value": value})):
                self._taken.add((parameter.name, parameter.place))
        if step.body is not None:
            replacements = [self._constant(dict(one)) for one in step.body.replacements]
            placed.add_body(
                step.body.model_copy(
                    update={
                        "payload": self._constant(step.body.payload),
                        "replacements": tuple(replacements),
                    }
                )
            )
        placed.check(step.pointer)
        return placed

    def _terms(self, step: DocumentStep, tool: Tool) -> dict[str, object]:
        """Return what a step states about its call: never less than the tool's document does.

        Raises:
            DocumentInvalid: the document states it already, or it cannot be carried out.
        """
        terms: dict[str, object] = {
            "card_type": step.card_type,
            "card_text": self._constant(step.card_text),
            "approvers": step.approvers,
        }
        if step.card_type and tool.card_type is not None:
            reason = f"the document of {tool.name} states the card type {tool.card_type}"
            raise self.invalid(f"{step.pointer}/{CARD_TYPE}", reason, "take the field out")
        if step.card_type and step.card_type not in CARD_TYPES:
            known = ", ".join(sorted(CARD_TYPES))
            reason = f"no card type is called {step.card_type!r}"
            raise self.invalid(f"{step.pointer}/{CARD_TYPE}", reason, f"there are {known}")
        if step.cancel is None:
            return terms
        called = self._tool(step.cancel)
        placed = self._placed(step.cancel, called)
        why = ""
        if tool.effect is not Effect.WRITE or tool.irreversible:
            why = f"the document of {tool.name} states how it is cancelled, or that it is not"
        elif not called.is_side_effect or called.spends:
            why = f"{called.name} {'costs money' if called.spends else 'only reads'}"
        elif placed.spread is not None:
            why = "its payload is to be an object"
        if why:
            raise self.invalid(step.cancel.pointer, why)
        try:
            arguments = {name: as_filling(value) for name, value in placed.arguments.items()}
        except ValueError as error:
            raise self.invalid(step.cancel.pointer, str(error)) from None
        terms["cancel"] = StatedCancel(tool=called.name, arguments=arguments)
        if called.needs_confirmation and not tool.needs_confirmation:
            terms["card_type"] = step.card_type or DEFAULT_CARD  # approved with what it cancels
        return terms

    def _of_goal(self, step: DocumentStep, common: WrittenStep) -> WrittenStep:
        """Return a step that is left to a planner; its parameters are inputs of the goal."""
        given = {one.name: self._constant(one.value) for one in step.parameters if not one.place}
        for one in step.parameters:
            if one.place and not one.is_inherited:
                raise self.invalid(one.pointer, "a parameter of a goal has no 'in'")
        tools = [self._operation(name, f"{step.pointer}/{ORDERS}") for name in step.orders]
        if reading := [tool.name for tool in tools if not tool.is_side_effect]:
            reason = f"{reading[0]} only reads, and needs no order"
            raise self.invalid(f"{step.pointer}/{ORDERS}", reason)
        default = {
            name: f"$response.body#{format_pointer((name,))}"
            for name in properties_of(step.output_schema)
        }
        changes = {
            "goal": step.goal,
            "output_schema": step.output_schema,
            "orders": tuple(tool.name for tool in tools),
            "arguments": given,
            "outputs": common.outputs or default,
            "is_consequence": bool(tools),
        }
        return common.model_copy(update=changes)

    def _called(
        self, reference: str, parameters: Iterable[GivenParameter], pointer: str
    ) -> tuple[WrittenWorkflow, JsonObject]:
        document, target, prefix = self.workflow_named(reference, pointer)
        key = f"{document.name}#{target.workflow_id}"
        if key in self._within or self._depth >= _MOST_NESTED:
            why = "itself" if key in self._within else f"over more than {_MOST_NESTED} levels"
            remedy = "" if key not in self._within else "go to one of its steps instead"
            raise self.invalid(pointer, f"the workflow {reference!r} calls {why}", remedy)
        if key not in self._binder.called:
            place = _Place(
                self._binder, document, target, prefix, depth=self._depth + 1, within=self._within
            )
            self._binder.called[key] = None  # stays so if it cannot be bound
            self._binder.called[key] = place.bound()
        bound = self._binder.called[key]
        if bound is None:
            raise self.invalid(pointer, f"the workflow {reference!r} cannot be bound")
        declared = bound.inputs.get("properties")
        arguments: JsonObject = {}
        for one in parameters:
            if one.place and one.is_inherited:
                continue
            if isinstance(declared, dict) and one.name not in declared:
                raise self.invalid(one.pointer, unknown_name(one.name, declared))
            arguments[one.name] = self._constant(one.value)
        needed = bound.inputs.get("required")
        for name in needed if isinstance(needed, list) else ():
            if name not in arguments:
                raise self.invalid(pointer, f"the workflow {reference!r} needs {name!r}")
        return bound, arguments

    def _action(self, given: GivenAction) -> Action:
        action = given.action
        known = [step.step_id for step in self._workflow.steps]
        if action.step_id and action.step_id not in known:
            raise self.invalid(given.pointer, f"no step is called {action.step_id!r}")
        if not given.workflow_id:
            return action
        called, inputs = self._called(given.workflow_id, given.parameters, given.pointer)
        return action.model_copy(update={"workflow": called, "arguments": inputs})

    def _constant(self, template: JsonValue) -> JsonValue:
        """Return a template with the expressions replaced that the document itself answers."""
        if isinstance(template, list):
            return [self._constant(one) for one in template]
        if isinstance(template, dict):
            return {name: self._constant(one) for name, one in template.items()}
        if not isinstance(template, str) or "$s" not in template:
            return template

        def value(text: str) -> str:
            if text == "$self":
                return self._document.self_uri
            found = _SOURCE.fullmatch(text)
            assert found is not None
            source = self._source_named(found["name"], self._workflow.pointer)
            return str(getattr(source, found["rest"]))

        if _CONSTANT.fullmatch(template):
            return value(template)
        text = EMBEDDED.sub(
            lambda one: value(one[1]) if _CONSTANT.fullmatch(one[1]) else one[0], template
        )
        # An output of a workflow of another document is that of the leg of its name.
        return _FOREIGN_OUTPUT.sub(r"$workflows.\1", text)

    def _tool(self, step: DocumentStep) -> Tool:
        field = "operationId" if step.operation_id else "operationPath"
        pointer = f"{step.pointer}/{field}"
        if step.operation_path:
            found = _PATH.fullmatch(step.operation_path)
            steps = parse_pointer(unquote(found["pointer"])) if found else ()
            if found is None or len(steps) != 3 or steps[0] != "paths":
                reason = "an operationPath is {$sourceDescriptions.NAME.url}#/paths/~1PATH/METHOD"
                raise self.invalid(pointer, f"{step.operation_path!r} names no operation", reason)
            named = _SOURCE.fullmatch(found["source"].strip("{}"))
            if named:
                source = self._source_named(named["name"], pointer)
            else:
                by_url = [one for one in self._document.sources if one.url == found["source"]]
                source = by_url[0] if by_url else self._source_named(found["source"], pointer)
            document = self._document_of(source)
            tools = [
                tool
                for tool in self._catalog.tools.values()
                if (tool.document, tool.path, tool.method) == (document, steps[1], steps[2].upper())
            ]
            return self._only(tools, f"{steps[2].upper()} {steps[1]}", [document], pointer)
        return self._operation(step.operation_id, pointer)

    def _operation(self, operation_id: str, pointer: str) -> Tool:
        """Return the tool of an operation, or the function, that a document names.

        Next to `$sourceDescriptions.NAME.ID`, many documents write `NAME.ID`.
        """
        source, name = None, operation_id
        if found := _SOURCE.fullmatch(operation_id):
            source, name = self._source_named(found["name"], pointer), found["rest"]
        else:
            for one in self._document.sources:
                if operation_id.startswith(f"{one.name}."):
                    source, name = one, operation_id.removeprefix(f"{one.name}.")
                    break
        openapi = [one for one in self._document.sources if one.type == "openapi"]
        sources = [source] if source is not None else openapi
        documents = list(dict.fromkeys(self._document_of(one) for one in sources))
        known = _by_operation(self._catalog)
        tools = [tool for document in documents for tool in known.get((document, name), ())]
        if not tools and source is None and name in self._catalog.tools:
            tool = self._catalog.tools[name]
            # A function or a tool of MCP has no document that a source could name.
            tools = [tool] if not tool.path or tool.document in FUNCTIONS else []
        return self._only(tools, name, documents, pointer)

    def _only(self, found: list[Tool], name: str, documents: list[str], pointer: str) -> Tool:
        if len(found) > 1:
            of = " and ".join(sorted(tool.document for tool in found))
            reason = f"{name!r} is an operation of {of}"
            raise self.invalid(pointer, reason, f"write $sourceDescriptions.NAME.{name}")
        if found:
            return found[0]
        for skipped in self._catalog.skipped:
            if skipped.operation == name and skipped.document in documents:
                raise self.invalid(pointer, f"{name!r} is no tool: {skipped}")
        for document in documents:
            if any(one.operation_id == name for one in _operations(self._catalog, document)):
                reason = f"the operation {name!r} of {document} is no tool"
                remedy = "mark it with x-orchet-tool: true, or by an overlay"
                raise self.invalid(pointer, reason, remedy)
        known = [key[1] for key in _by_operation(self._catalog) if key[0] in documents]
        missing = unknown_name(name, known).replace("no input here", "no operation of its sources")
        raise self.invalid(pointer, missing)

    def _document_of(self, source: SourceDescription) -> str:
        if source.type == "asyncapi":
            reason = f"the source {source.name!r} is of AsyncAPI, which is not supported"
            raise self.invalid(source.pointer, reason, "leave out the steps over it")
        found = self._binder.source(source)
        if not isinstance(found, str) or found not in self._binder.documents:
            known = ", ".join(sorted(self._catalog.documents)) or "none"
            raise self.invalid(
                source.pointer,
                f"no document of the catalog is the source {source.name!r} ({source.url})",
                f"map it to one of: {known}",
            )
        return found


@read_once
def _by_operation(catalog: Catalog) -> dict[tuple[str, str], list[Tool]]:
    found: dict[tuple[str, str], list[Tool]] = {}
    named: dict[tuple[str, str, str], set[str]] = {}
    for document in catalog.documents:
        for one in _operations(catalog, document):
            if one.operation_id:
                named.setdefault((document, one.path, one.method), set()).add(one.operation_id)
    for tool in catalog.tools.values():
        for name in {tool.name} | named.get((tool.document, tool.path, tool.method), set()):
            found.setdefault((tool.document, name), []).append(tool)
    return found


def _operations(catalog: Catalog, document: str) -> list[Operation]:
    content = catalog.documents.get(document)
    return list(operations(DocumentNode.of(document, content))) if content is not None else []
