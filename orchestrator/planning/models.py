"""Plans, step contexts and decisions: the input and output of planners."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from orchestrator.arazzo.written import WrittenWorkflow
from orchestrator.core.budget import Money, Usage
from orchestrator.core.call_ref import StatedCancel
from orchestrator.core.limits import Allowance, Limits
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import BodyRef, JsonObject, OneOfSeveral, Record
from orchestrator.core.wall import Wall
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.saga.outcome import OutcomeKind

DoubtKind = Literal["not_carried_out", "left_over", "ambiguous", "impossible"]


class Doubt(Record):
    """A part of a goal that rules cannot carry out exactly.

    A person is asked about it before the first effect.
    """

    kind: DoubtKind
    about: str = Field(description="words of the goal")
    why: str = Field(description="one sentence: the alternative, or what was found")


CHAINING: Final = "chaining"
"""The rule planner."""
LLM: Final = "llm"
"""The model planner."""
RULES: Final = "rules"
"""The name of the rule planner in a leg's `planned_by`."""
WRITTEN: Final = "workflow"
"""The `planned_by` of a leg that a written workflow decides."""
CODE: Final = "code"
"""The `planned_by` of a call that a workflow's own code makes."""
OwnPlanner = Literal["chaining", "llm"]
USUAL_LIMITS: Final = {"steps": 40, "tool_calls": 32}
"""Limits of one leg of an agent whose profile sets none."""
ANYBODY: Final = "*"
"""Stands for every other agent in `hands_over_to`."""


class AgentProfile(Record):
    """The agent of a leg: its name, instructions, permitted tools, model and task queue.

    `domains` and `tools` are one wall: a tool is inside if its domain or its name is listed. With
    neither, every tool is inside.
    """

    name: str
    instructions: str = ""
    domains: tuple[str, ...] = Field(default=(), description="domains whose tools it may use")
    tools: tuple[str, ...] = Field(
        default=(), description="further tools that it may use: names, or `message_*`"
    )
    prefers: tuple[str, ...] = Field(
        default=(), description="domains whose tools rank first; forbids nothing"
    )
    model: str | None = Field(
        default=None, description="provider:model; None for the mission's, else the worker's"
    )
    fallback: tuple[str, ...] = Field(
        default=(), description="models asked in this order when `model` cannot decide"
    )
    planner: str | None = Field(
        default=None,
        description="planner of its steps: chaining, llm, or module:factory of your own; "
        "None: a model where one is set, else chaining",
    )
    task_queue: str | None = Field(default=None, description="None for the mission's own")
    hands_over_to: tuple[str, ...] = Field(
        default=(),
        description="agents that may take over parts of its legs, inside their own walls; "
        "`*` for all, empty for none",
    )
    max_items: int = Field(
        default=20,
        ge=1,
        description="number of items that one request is carried out for, a call each; more "
        "is refused before the first",
    )
    limits: Limits = Field(
        default_factory=Limits,
        description="limits of one of its legs; 40 decisions and 32 calls if not stated; "
        "discovery and questions do not count",
    )
    max_repeats: int = Field(
        default=3,
        ge=2,
        description="equal calls with equal answers before the planner is warned; one more "
        "ends the leg",
    )
    max_bad_answers: int = Field(
        default=5,
        ge=1,
        description="unusable answers of one model before the next one, or a person, is asked",
    )
    tool_list: Literal["step", "growing"] = Field(
        default="step",
        description="`growing`: all later steps of the leg see the tools of earlier ones",
    )
    context_tokens: int = Field(
        default=32_000, ge=1_000, description="tokens of the prompt of one step"
    )

    @property
    def leg_limits(self) -> Limits:
        """The limits of one leg of this agent, which always include steps and tool calls."""
        usual = {n: most for n, most in USUAL_LIMITS.items() if getattr(self.limits, n) is None}
        return self.limits.model_copy(update=usual)

    def within(self, limits: Limits) -> "AgentProfile":
        """Return this agent, allowed no more than these limits."""
        both = self.leg_limits.intersect(limits)
        return self if both == self.leg_limits else self.model_copy(update={"limits": both})

    @property
    def wall(self) -> Wall:
        """The wall that travels with the agent's calls: its name, and its permitted tools."""
        return Wall(agent=self.name, domains=self.domains, tools=self.tools)


class OneCall(Record):
    """The one call that a mission consists of, if no goal is to be read."""

    tool: str
    arguments: JsonObject = Field(default_factory=dict, description="personal values as handles")


class WorkflowSource(Record):
    """A workflow to run, in an Arazzo document that travels with the request."""

    document: JsonObject = Field(description="the whole Arazzo document")
    name: str = Field(default="workflow", description="of its file, for errors")
    workflow_id: str = Field(default="", description="empty: the only one of the document")
    sources: dict[str, str] = Field(
        default_factory=dict,
        description="documents of the catalog by the names of source descriptions, where neither "
        "name nor URL says which one is meant",
    )
    linked: dict[str, JsonObject] = Field(
        default_factory=dict, description="Arazzo documents that it refers to, by URL"
    )


MOST_WORKFLOW_CHARACTERS: Final = 400_000
"""Of the JSON of an Arazzo document that travels with a request."""
_LONGEST_TITLE: Final = 300


def title_of(source: WorkflowSource) -> str:
    """Return the title of a written workflow: its summary, or its id, or that of the document."""
    listed = source.document.get("workflows")
    flows = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    meant = [one for one in flows if source.workflow_id in ("", one.get("workflowId"))]
    titles = [meant[0].get("summary"), meant[0].get("workflowId")] if len(meant) == 1 else []
    found = (text for text in (*titles, source.workflow_id, source.name) if isinstance(text, str))
    return next((" ".join(text.split())[:_LONGEST_TITLE] for text in found if text.strip()), "")


def input_names_of(source: WorkflowSource) -> frozenset[str]:
    """Return the names of the inputs that the workflows of a document declare."""
    listed = source.document.get("workflows")
    flows = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    inputs = [one.get("inputs") for one in flows]
    properties = [one.get("properties") for one in inputs if isinstance(one, dict)]
    return frozenset(name for one in properties if isinstance(one, dict) for name in one)


class LegPlan(Record):
    """A part of a mission, for one agent."""

    leg_id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$", description="unique in its mission")
    goal: str = Field(
        description="text that the router reads at each step, in the user's own words"
    )
    agent: AgentProfile
    depends_on: tuple[str, ...] = Field(
        default=(), description="ids of the legs that must succeed first and pass their facts"
    )
    orders: tuple[Order, ...] = Field(
        default=(), description="consequences that the planner intends"
    )
    serves: tuple[str, ...] = Field(
        default=(), description="words of the mission's goal that it serves"
    )
    handed_over_by: str = Field(
        default="", description="leg that handed it over; empty if it was planned"
    )
    call: OneCall | None = Field(default=None, description="None: its planner decides its steps")
    written: WrittenWorkflow | None = Field(
        default=None, description="the workflow that decides its steps; None: its planner does"
    )
    inputs: JsonObject = Field(default_factory=dict, description="values for this leg alone")
    output_schema: JsonObject | None = Field(
        default=None, description="JSON Schema of its outputs, if it does a step of a workflow"
    )
    planned_by: str = Field(
        default="",
        description="planner of its steps: a model, the rules or one of your own; empty if "
        "the worker's planner does not state it",
    )

    @property
    def asks_no_model(self) -> bool:
        """True if its calls are prepared without waiting for anybody, in the workflow's worker."""
        if self.planned_by == WRITTEN:
            return True
        return self.planned_by in (RULES, CODE) and not self.agent.model

    @property
    def is_planned_by_rules(self) -> bool:
        """True if no model and no user's own planner decides its steps, so that it is quick."""
        if self.planned_by == WRITTEN:
            return True
        return self.planned_by == RULES and not self.agent.model


class MissionPlan(Record):
    """The legs of a mission; `depends_on` orders them, all others may run in parallel."""

    legs: tuple[LegPlan, ...]
    uncovered: tuple[str, ...] = Field(
        default=(), description="text of the goal that no leg serves"
    )
    doubts: tuple[Doubt, ...] = Field(
        default=(), description="doubts that a person settles before the first side effect"
    )
    usage: Usage = Field(
        default_factory=Usage, description="usage of models, failed answers included"
    )
    made_by: PlanOrigin = Field(default_factory=PlanOrigin)

    @property
    def has_orders(self) -> bool:
        """True if the plan intends a consequence."""
        return any(leg.orders for leg in self.legs)

    @property
    def is_unproven(self) -> bool:
        """True if a model stated its orders: they hold once a person or a request lists them."""
        return self.made_by.planner in ("model", "one leg")


class GoalBrief(Record):
    """A mission as a planner sees it before it splits the goal into legs."""

    mission_id: str
    goal: str
    inputs: JsonObject = Field(default_factory=dict, description="values given with the goal")
    now: datetime = Field(description="the mission's start")
    catalog_digest: str
    planner: OwnPlanner | None = Field(
        default=None,
        description="the mission's planner for agents that name none; None for the worker's",
    )
    model: str | None = Field(
        default=None,
        description="the mission's model for agents that name none; None for the worker's",
    )
    model_away: str = Field(
        default="", description="reason why no model may split the goal; empty if one may"
    )
    read_only: bool = Field(default=False, description="True if the mission may change nothing")
    call: OneCall | None = Field(default=None, description="None: the goal is to be planned")
    workflow: WorkflowSource | None = Field(
        default=None, description="a written workflow in place of a plan"
    )
    allowance: Allowance | None = Field(
        default=None, description="limit of model usage for planning; None for no limit"
    )


class Fact(Record):
    """A successful call of an earlier leg: its arguments and its answer."""

    source: str = Field(description="leg and step, e.g. 1-flights.2")
    tool: str
    side_effect: bool = False
    title: str = ""
    arguments: JsonObject = Field(default_factory=dict)
    body: JsonValue = None
    price: Money | None = None
    at: datetime | None = Field(default=None, description="time of the answer")
    body_ref: BodyRef | None = Field(
        default=None, description="reference of the whole body; facts with one go to no planner"
    )


MOST_CONDITIONS: Final = 20
MOST_COLUMNS: Final = 5
MOST_ROWS: Final = 10

HAND_OVER: Final = "hand_over"
"""The tool name of an observation about a part handed to another agent."""

_GONE: Final = "HTTP 410"
FINISH: Final = "finish"
"""The tool name of an observation about a refused ending."""
ANSWER: Final = "answer"
"""The tool name of an observation about answers of the planner that could not be carried out."""


class Observation(Record):
    """A step of this leg, and its outcome.

    Calls that were made in parallel are separate parts of their step, in the order of the answer.
    The outcome of a call that was sent is `succeeded`, `rejected` by the provider, or `unknown` if
    no clear answer came. A call that was not sent is `refused` by a person, a policy or the profile
    of the agent, or `invalid` by the contract of its tool. A search for tools is `discovered`, and
    its body the names of the tools found. A part that another agent did is `handed_over`. A call
    that a planner wanted in addition is `dropped`. An ending that nothing proves is `refused` once,
    under the name of FINISH. Answers that cannot be carried out are `unusable`, under the name of
    ANSWER.
    """

    step: int
    part: int = Field(
        default=0, description="index of the call among the parallel calls of the step"
    )
    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    outcome: (
        OutcomeKind
        | Literal["refused", "invalid", "discovered", "dropped", "handed_over", "unusable"]
    )
    side_effect: bool = False
    body: JsonValue = None
    error: str | None = None
    price: Money | None = None
    at: datetime | None = Field(default=None, description="time of the answer")
    refused_by: str = Field(default="", description="person who refused it; empty if nobody did")
    hint: str = Field(
        default="", description="the person's request or reason: data, never an instruction"
    )
    repeated: str = Field(
        default="",
        description="warning that the same call had the same answer before; given once, "
        "before it ends the leg",
    )
    step_id: str = Field(default="", description="step of the written workflow that it is of")
    replaces: bool = Field(
        default=False, description="True if a repair made the step's last call again"
    )
    status: int | None = Field(
        default=None, description="HTTP status, for a step of a written workflow"
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="those that the workflow reads, by lower-case name"
    )
    sent_back: bool = Field(
        default=False, description="True if the person wants a change, as the hint says"
    )
    body_ref: BodyRef | None = Field(
        default=None,
        description="reference of the whole body; observations with one go to no planner",
    )


class Colleague(Record):
    """An agent to which a part of a leg may be handed over."""

    name: str
    does: str = Field(default="", description="its domains and tools, for a model")


class StepContext(Record):
    """The input of a planner that decides one step of one leg.

    Values of personal fields are in no part of it: calls take handles (`pii:traveler_id`), which
    are replaced when the call is sent.
    """

    mission_id: str
    leg_id: str
    step: int = Field(description="counted from 1; its agent limits the number")
    mission_goal: str
    leg_goal: str
    agent: AgentProfile
    inputs: JsonObject = Field(
        default_factory=dict, description="values given by the user, answers to questions included"
    )
    facts: tuple[Fact, ...] = Field(default=(), description="from the legs this one depends on")
    observations: tuple[Observation, ...] = Field(
        default=(), description="outcomes of the leg's steps, the oldest first"
    )
    discovered: tuple[str, ...] = Field(
        default=(), description="callable tools that searches of the leg found"
    )
    orders: tuple[Order, ...] = Field(
        default=(), description="effects without which the leg does not end"
    )
    read_only: bool = Field(default=False, description="True if the mission may change nothing")
    call: OneCall | None = Field(default=None, description="None: its planner decides its steps")
    written: WrittenWorkflow | None = Field(
        default=None, description="the workflow that decides its steps; None: its planner does"
    )
    output_schema: JsonObject | None = Field(
        default=None, description="JSON Schema of the outputs that a workflow wants of its end"
    )
    outputs_of: dict[str, JsonObject] = Field(
        default_factory=dict, description="outputs of the workflows that it depends on, by id"
    )
    colleagues: tuple[Colleague, ...] = Field(
        default=(), description="agents that may take over a part of the leg"
    )
    budget_left: Money | None = Field(default=None, description="None for no limit")
    allowance: Allowance | None = Field(
        default=None, description="remaining model usage for this step; None for no limit"
    )
    now: datetime = Field(
        description="start of the mission: `tomorrow` means the same day in every step"
    )
    catalog_digest: str
    conversation: str = Field(
        default="", description="store key of the earlier exchange with its model; empty if none"
    )
    forwarded: tuple[str, ...] = Field(
        default=(), description="tools of earlier steps, where the list grows"
    )

    @property
    def is_routed(self) -> bool:
        """True if the router selects its tools: no workflow and no request names them."""
        return self.written is None and self.call is None

    @property
    def ordered_tools(self) -> tuple[str, ...]:
        """The tool of each order: the first whose provider did not answer that it is gone (410)."""
        over = {
            seen.tool
            for seen in self.observations
            if seen.outcome == "rejected" and (seen.error or "").startswith(_GONE)
        }
        named = (order.tools for order in self.orders if order.tools)
        return tuple(next((t for t in one if t not in over), one[0]) for one in named)

    @property
    def last_error(self) -> str | None:
        """The error of the last step; None after a success or at the start."""
        made = (seen for seen in reversed(self.observations) if seen.outcome != "dropped")
        return next((seen.error for seen in made), None)


class CallTerms(Record):
    """Terms of a call that a written workflow states: they only tighten its document's."""

    card_type: str = Field(default="", description="for a tool that asks nobody by its document")
    approvers: tuple[str, ...] = Field(
        default=(), description="people who may approve it, among those of the policy"
    )
    cancel: StatedCancel | None = Field(
        default=None, description="for a tool whose document declares no cancel"
    )
    timeout_s: float | None = Field(
        default=None, gt=0, description="of one attempt, where the policy allows more"
    )


NO_TERMS: Final = CallTerms()


class CallTool(OneOfSeveral):
    """Call this tool with these arguments.

    A call that needs a confirmation waits for a person; references and idempotency keys are filled
    in. The outcome is the last observation of the next step.
    """

    kind: Literal["call_tool"] = "call_tool"
    tool: str
    arguments: JsonObject = Field(
        default_factory=dict, description="personal inputs as handles: pii: and the input"
    )
    reason: str = Field(default="", description="reason, for readers of the history")
    step_id: str = Field(default="", description="step of the written workflow that wants it")
    replaces: bool = Field(
        default=False, description="True if a repair makes the step's last call again"
    )
    after_s: float = Field(default=0, ge=0, description="seconds to wait before it is prepared")
    headers: tuple[str, ...] = Field(
        default=(), description="names of headers of the answer that are read"
    )
    call_terms: CallTerms = Field(default=NO_TERMS, description="of a written workflow's step")


MOST_CALLS: Final = 8
"""The maximum number of calls that are made in parallel."""
MOST_DROPPED: Final = 16
"""The maximum number of dropped calls of a planner that are reported one by one."""


class CallTools(OneOfSeveral):
    """Call these tools in parallel; none changes anything or needs a confirmation.

    Each call is checked like a single call, and gets an observation, in this order.
    """

    kind: Literal["call_tools"] = "call_tools"
    calls: tuple[CallTool, ...] = Field(min_length=2, max_length=MOST_CALLS)


class Dropped(Record):
    """A call that a planner wanted in addition: it is not made, and the planner learns why."""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    why: str
    is_left_out: bool = Field(
        default=False,
        description="True if the call was made without these arguments: people see it, and the "
        "planner, which a note would lead to give up, does not",
    )
    is_refused: bool = Field(default=False, description="True if the agent's wall forbids it")


class DiscoverTools(OneOfSeveral):
    """Search for tools that were not forwarded; not counted as a tool call."""

    kind: Literal["discover_tools"] = "discover_tools"
    query: str


class AskUser(OneOfSeveral):
    """Ask the person who started the mission for values that nothing else can supply.

    The leg waits for the answer, which is in `inputs` from the next step on; without an answer in
    time the leg ends.
    """

    kind: Literal["ask_user"] = "ask_user"
    question: str
    why: str = Field(default="", description="purpose of the answer, in one sentence")
    fields: dict[str, JsonObject] = Field(description="name to JSON Schema of each requested value")


class AnswerTable(Record):
    """A small table of found items: data of providers, none of it markup."""

    columns: tuple[str, ...] = Field(max_length=MOST_COLUMNS, description="headings")
    rows: tuple[tuple[str, ...], ...] = Field(
        max_length=MOST_ROWS, description="one row per item, one text per column"
    )
    more: int = Field(default=0, ge=0, description="number of further items")


class Finish(OneOfSeveral):
    """The leg has reached its goal: the legs that depend on it may start."""

    kind: Literal["finish"] = "finish"
    summary: str
    table: AnswerTable | None = Field(
        default=None, description="found items, if the summary does not name all"
    )
    conditions: tuple[WhenRead, ...] = Field(
        default=(),
        max_length=MOST_CONDITIONS,
        description="for each order with a `when`, or an `each` without items: whether it "
        "held, and the value read",
    )
    outputs: JsonObject = Field(default_factory=dict, description="for a written workflow")


class GiveUp(OneOfSeveral):
    """The leg cannot reach its goal: the mission fails, and its effects are rolled back."""

    kind: Literal["give_up"] = "give_up"
    reason: str


class HandOver(OneOfSeveral):
    """Have another agent do a part of this leg's goal, as a leg inside that agent's walls.

    The leg waits until the other one has ended; the facts of the next step include its results.
    """

    kind: Literal["hand_over"] = "hand_over"
    agent: str = Field(description="one of the context's `colleagues`")
    goal: str = Field(description="complete instructions: the agent sees no more of this leg")
    reason: str = Field(default="", description="reason, for readers of the history")


class StepGoal(OneOfSeveral):
    """Have a planner reach the goal of a written workflow's step, as a leg; no planner says it."""

    kind: Literal["step_goal"] = "step_goal"
    step_id: str
    goal: str
    agent: str = Field(default="", description="empty: the agent of the workflow's leg")
    inputs: JsonObject = Field(default_factory=dict)
    output_schema: JsonObject = Field(
        default_factory=dict, description="JSON Schema of the outputs"
    )
    orders: tuple[Order, ...] = ()
    after_s: float = Field(default=0, ge=0, description="seconds to wait before it begins")


StepDecision = Annotated[
    CallTool | CallTools | DiscoverTools | AskUser | HandOver | StepGoal | Finish | GiveUp,
    Field(discriminator="kind"),
]
