"""Bound workflows for people: a row for each step, and the flow as a Mermaid graph."""

from collections.abc import Iterable, Iterator
from typing import Final

from orchestrator.arazzo.runtime_expressions import expressions_in
from orchestrator.arazzo.written import Action, WrittenWorkflow
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import Record

_ESCAPES: Final = {'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}


class StepRow(Record):
    """A step, or the workflow that it calls."""

    step: str
    """Its path, as answers name it: `travel/book`."""
    calls: str
    """Name of a tool or a workflow, or the goal of a planner."""
    effect: str = ""
    """Empty for a workflow, and for a goal without orders."""
    cancelled_by: str = ""
    reads: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    """Actions after success and failure."""
    repeats: int = 1
    agent: str = ""
    title: str = ""


def step_rows(workflow: WrittenWorkflow, catalog: Catalog, prefix: str = "") -> tuple[StepRow, ...]:
    """Return a row for each step, those of called workflows after the step that calls them."""
    rows: list[StepRow] = []
    for step in workflow.steps:
        tools = [catalog.tools[name] for name in step.tools]
        cancels = [tool.compensation.cancel.tool for tool in tools if tool.compensation]
        cancels += [step.cancel.tool] if step.cancel is not None else []
        read = expressions_in([dict(step.arguments), step.spread])
        rows.append(
            StepRow(
                step=f"{prefix}{step.step_id}",
                calls=step.workflow.workflow_id
                if step.workflow is not None
                else step.tool or step.goal,
                effect=", ".join(dict.fromkeys(tool.effect.value for tool in tools)),
                cancelled_by=", ".join(dict.fromkeys(cancels)),
                reads=tuple(dict.fromkeys(one.text for one in read)),
                gives=tuple(step.outputs),
                then=(
                    *(f"success: {_said(one)}" for one in step.on_success),
                    *(f"failure: {_said(one)}" for one in step.on_failure),
                ),
                repeats=step.repeats,
                agent=step.agent,
                title=step.title,
            )
        )
        if step.workflow is not None:
            rows += step_rows(step.workflow, catalog, f"{prefix}{step.step_id}/")
        for action in step.actions:
            if action.workflow is not None:
                inner = f"{prefix}{step.step_id}.{action.name}/"
                rows += step_rows(action.workflow, catalog, inner)
    return tuple(rows)


def _said(action: Action) -> str:
    target = action.workflow.workflow_id if action.workflow is not None else action.step_id
    said: str = action.kind
    if action.kind == "goto":
        said = f"goto {target}"
    elif action.kind == "retry":
        said = f"retry {action.retry_limit} times after {action.retry_after_s:g} s"
        said += f", with {target} first" if target else ""
    condition = " and ".join(one.condition for one in action.criteria)
    return f"{said} if {condition}" if condition else said


def mermaid(workflows: Iterable[WrittenWorkflow], catalog: Catalog) -> str:
    """Return the flow of workflows as text of a Mermaid flowchart; effects are marked."""
    lines = ["flowchart TD"]
    listed = list(workflows)
    ids = {workflow.workflow_id: f"w{index}" for index, workflow in enumerate(listed)}
    for workflow in listed:
        lines += _graph(workflow, ids[workflow.workflow_id], catalog)
    lines += [
        f"{ids[name]} ==> {ids[workflow.workflow_id]}"
        for workflow in listed
        for name in workflow.depends_on
        if name in ids
    ]
    return "\n".join((*lines, "classDef effect stroke-width:3px", ""))


def _graph(workflow: WrittenWorkflow, own: str, catalog: Catalog) -> Iterator[str]:
    """Yield the lines of a workflow as a subgraph, with those of the workflows that it calls."""
    places = {step.step_id: f"{own}s{index}" for index, step in enumerate(workflow.steps)}
    yield f'subgraph {own}["{_escaped(workflow.workflow_id)}"]'
    for step in workflow.steps:
        place = places[step.step_id]
        if step.workflow is not None:
            yield from _graph(step.workflow, place, catalog)
            continue
        yield f'{place}["{_escaped(step.step_id)}<br/>{_escaped(step.tool or step.goal)}"]'
        if step.is_consequence:
            yield f"class {place} effect"
    if any(a.kind == "end" for step in workflow.steps for a in step.actions):
        yield f"{own}end((end))"
    for index, step in enumerate(workflow.steps):
        succeeding = step.on_success
        if all(one.criteria for one in succeeding) and index + 1 < len(workflow.steps):
            yield f"{places[step.step_id]} --> {own}s{index + 1}"
        for number, action in enumerate(step.actions):
            arrow, place = "-->" if number < len(succeeding) else "-.->", places[step.step_id]
            target = places.get(action.step_id, place)
            if action.kind == "end":
                target = f"{own}end"
            elif action.workflow is not None:
                target = f"{place}a{number}"
                yield from _graph(action.workflow, target, catalog)
            yield f'{place} {arrow}|"{_escaped(_said(action))}"| {target}'
    yield "end"


def _escaped(text: str) -> str:
    """Return text for a label of Mermaid: at most 80 characters, none with a meaning."""
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return "".join(_ESCAPES.get(character, character) for character in shown)
