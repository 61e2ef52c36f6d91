"""A workflow of an Arazzo document, bound to the tools of a catalog: plain data for plans.

Templates are JSON values whose texts may be runtime expressions (`$steps.find.outputs.id`), or may
contain them in braces (`"Room {$inputs.number}"`).
"""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core.call_ref import StatedCancel
from orchestrator.core.record import JsonObject, Record

MOST_STEPS: Final = 100
"""Steps of a workflow, with those of the workflows that it calls."""


class Criterion(Record):
    """A condition over the answer of a step."""

    condition: str
    type: Literal["simple", "regex", "jsonpath"] = "simple"
    context: str = Field(default="", description="expression that a regex or JSONPath reads")


class Action(Record):
    """What follows a step that succeeded or failed."""

    name: str
    kind: Literal["end", "goto", "retry"]
    step_id: str = Field(
        default="", description="target of a goto, or the step before a retry; same workflow"
    )
    retry_after_s: float = Field(default=0, ge=0)
    retry_limit: int = Field(default=1, ge=0)
    workflow: "WrittenWorkflow | None" = Field(
        default=None, description="target of a goto, or what runs before a retry"
    )
    arguments: JsonObject = Field(
        default_factory=dict, description="template of that workflow's inputs"
    )
    criteria: tuple[Criterion, ...] = ()


class CallShape(Record):
    """Where the arguments of a call stand in its request, for expressions that read it."""

    method: str = ""
    url: str = Field(default="", description="server and path, with {names} of path parameters")
    places: dict[str, str] = Field(
        default_factory=dict, description="`path:id` by input name; `body:` is the whole body"
    )


class WrittenStep(Record):
    """A step: a call of a tool, a whole workflow in its place, or a goal for a planner."""

    step_id: str
    title: str = Field(default="", description="its description, for people")
    tool: str = Field(default="", description="name in the catalog; empty for the others")
    workflow: "WrittenWorkflow | None" = None
    goal: str = Field(default="", description="constant text: no answer becomes an instruction")
    output_schema: JsonObject = Field(
        default_factory=dict, description="JSON Schema of what the planner of its goal gives"
    )
    orders: tuple[str, ...] = Field(
        default=(), description="tools whose effects its goal needs; none: its planner only reads"
    )
    arguments: JsonObject = Field(
        default_factory=dict, description="template of the tool's or the workflow's inputs"
    )
    spread: JsonValue = Field(
        default=None, description="template of an object whose properties are arguments too"
    )
    spread_names: dict[str, str] = Field(
        default_factory=dict, description="input names by property, where they differ"
    )
    request: CallShape | None = Field(default=None, description="None if nothing reads it")
    is_consequence: bool = False
    repeats: int = Field(default=1, ge=1, description="how often its effect may be made")
    criteria: tuple[Criterion, ...] = ()
    on_success: tuple[Action, ...] = ()
    on_failure: tuple[Action, ...] = ()
    outputs: dict[str, JsonValue] = Field(default_factory=dict, description="templates by name")
    timeout_s: float = Field(default=0, ge=0, description="of one attempt of its call; 0: none")
    card_type: str = Field(default="", description="of the card, if its document asks nobody")
    card_text: str = Field(default="", description="template of the reason on its card")
    approvers: tuple[str, ...] = Field(default=(), description="people who may approve it")
    cancel: StatedCancel | None = Field(
        default=None, description="its cancel; reads its own request and answer when that is there"
    )
    agent: str = Field(default="", description="agent that makes the call; empty: the first able")
    pointer: str = Field(default="", description="JSON pointer of the step in its document")

    @property
    def tools(self) -> tuple[str, ...]:
        """The tool that it calls, or those whose effects its goal needs."""
        return (self.tool,) if self.tool else self.orders

    @property
    def actions(self) -> tuple[Action, ...]:
        """All that may follow it."""
        return (*self.on_success, *self.on_failure)


class WrittenWorkflow(Record):
    """A workflow whose steps are bound to tools."""

    workflow_id: str
    summary: str = ""
    inputs: JsonObject = Field(default_factory=dict, description="JSON Schema of its inputs")
    steps: tuple[WrittenStep, ...] = Field(min_length=1, max_length=MOST_STEPS)
    outputs: dict[str, JsonValue] = Field(default_factory=dict, description="templates by name")
    depends_on: tuple[str, ...] = Field(default=(), description="workflows that end first")
    document: str = Field(default="", description="name of its document's file")
    pointer: str = Field(default="", description="JSON pointer of the workflow in its document")
    notes: tuple[str, ...] = Field(
        default=(), description="parts of the document that have no effect, each with the reason"
    )

    def called_steps(self) -> tuple[WrittenStep, ...]:
        """Return all steps that call no workflow, those of called workflows in their place."""
        return tuple(step for _, step in self.paths())

    def paths(self, prefix: str = "") -> Iterator[tuple[str, WrittenStep]]:
        """Yield each step that calls no workflow with its path, as answers name it.

        A step of a called workflow is `travel/book`; one of the workflow of an action is
        `pay.recover/refund`, after the step and the action.
        """
        for step in self.steps:
            if step.workflow is not None:
                yield from step.workflow.paths(f"{prefix}{step.step_id}/")
            else:
                yield f"{prefix}{step.step_id}", step
            for action in step.actions:
                if action.workflow is not None:
                    yield from action.workflow.paths(f"{prefix}{step.step_id}.{action.name}/")
