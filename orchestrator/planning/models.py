"""Plans, step contexts and decisions: the input and output of planners."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core.budget import Money, Usage
from orchestrator.core.limits import Allowance, Limits
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import BodyRef, JsonObject, OneOfSeveral, Record
from orchestrator.core.wall import Wall
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.saga.outcome import OutcomeKind

DoubtKind = Literal["not_carried_out", "left_over", "ambiguous", "impossible", "language"]


class Doubt(Record):
    """A part of a goal that rules cannot carry out exactly.

    A person is asked about it before the first effect.
    """

    kind: DoubtKind
    about: str = Field(description="in the words of the goal")
    why: str = Field(description="one sentence, with what would be done instead or what was found")
    choices: tuple[str, ...] = Field(
        default=(), description="what was found, as a person reads it; no raw ids"
    )


CHAINING: Final = "chaining"
"""The rule planner."""
LLM: Final = "llm"
"""The model planner."""
RULES: Final = "rules"
"""The name of the rule planner in a leg's `planned_by`."""
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
    domains: tuple[str, ...] = Field(default=(), description="whose tools it may use")
    tools: tuple[str, ...] = Field(
        default=(),
        description="that it may use next to those of its domains: names, or `message_*`",
    )
    prefers: tuple[str, ...] = Field(
        default=(),
        description="domains whose tools come first for it; a preference that forbids nothing",
    )
    model: str | None = Field(
        default=None, description="provider:model; None: its mission's, else the worker's, if any"
    )
    fallback: tuple[str, ...] = Field(
        default=(), description="models that are asked in this order when `model` cannot decide"
    )
    planner: str | None = Field(
        default=None,
        description="who decides its steps: chaining, llm, or module:factory of a planner of your "
        "own; None: a model where one is set, else chaining",
    )
    task_queue: str | None = Field(default=None, description="None: the mission's own")
    hands_over_to: tuple[str, ...] = Field(
        default=(),
        description="agents to which its model may hand parts of its leg, or `*`: legs of their "
        "own, inside their walls; none: to nobody",
    )
    max_items: int = Field(
        default=20,
        ge=1,
        description="of a kind that one request is carried out for, a call each; more is refused "
        "before the first",
    )
    limits: Limits = Field(
        default_factory=Limits,
        description="what one leg of it may use up; 40 decisions and 32 calls of tools where they "
        "are not said; discovery and questions are no calls",
    )
    max_repeats: int = Field(
        default=3,
        ge=2,
        description="the same call with the same answer, with nothing new between: it is told so "
        "then, and once more ends the leg",
    )
    max_bad_answers: int = Field(
        default=5,
        ge=1,
        description="steps of a leg that one model may spend on answers of no use, before another "
        "is taken or a person is asked",
    )
    tool_list: Literal["step", "growing"] = Field(
        default="step",
        description="`growing`: what a step was shown, all later ones of its leg are shown too",
    )
    context_tokens: int = Field(
        default=32_000, ge=1_000, description="what the prompt of one step may take"
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
    arguments: JsonObject = Field(default_factory=dict, description="personal ones as handles")


class LegPlan(Record):
    """A part of a mission, for one agent."""

    leg_id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$", description="unique in its mission")
    goal: str = Field(description="what the router reads at each step, in the user's own words")
    agent: AgentProfile
    depends_on: tuple[str, ...] = Field(
        default=(), description="ids of the legs that must succeed first; it is told their facts"
    )
    orders: tuple[Order, ...] = Field(
        default=(), description="the consequences that it is to have, as its planner states them"
    )
    serves: tuple[str, ...] = Field(
        default=(), description="the words of the mission's goal that it is for"
    )
    handed_over_by: str = Field(
        default="", description="the leg that handed it over while it ran; empty: it was planned"
    )
    call: OneCall | None = Field(default=None, description="None: its planner decides its steps")
    planned_by: str = Field(
        default="",
        description="who decides its steps: a model, the rules or a planner of one's own; empty: "
        "the planner of its worker does not say",
    )

    @property
    def is_planned_by_rules(self) -> bool:
        """True if no model and no user's own planner decides its steps, so that it is quick."""
        return self.planned_by == RULES and not self.agent.model


class MissionPlan(Record):
    """The legs of a mission; `depends_on` orders them, all others may run in parallel."""

    legs: tuple[LegPlan, ...]
    uncovered: tuple[str, ...] = Field(
        default=(), description="text of the goal that no leg says it serves"
    )
    doubts: tuple[Doubt, ...] = Field(
        default=(), description="to be settled by a person before the first side effect"
    )
    usage: Usage = Field(
        default_factory=Usage, description="what models took to make it, failed answers included"
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
        default=None, description="of the mission, for agents that name none; None: the worker's"
    )
    model: str | None = Field(
        default=None, description="of the mission, for agents that name none; None: the worker's"
    )
    model_away: str = Field(
        default="", description="why no model is asked to split it; empty: one may be"
    )
    failed_before: tuple[str, ...] = Field(
        default=(), description="what of an earlier plan failed and why; nothing of it was done"
    )
    read_only: bool = Field(default=False, description="the mission may change nothing")
    call: OneCall | None = Field(default=None, description="None: the goal is to be planned")
    allowance: Allowance | None = Field(
        default=None, description="what planning it may take of models; None: there is no limit"
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
    at: datetime | None = Field(default=None, description="when it was answered")
    body_ref: BodyRef | None = Field(
        default=None, description="where the whole body is; no planner is given a fact with one"
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
    part: int = Field(default=0, description="of several calls that were made at once: which")
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
    at: datetime | None = Field(default=None, description="when it was answered")
    refused_by: str = Field(default="", description="the person who refused it; empty: nobody did")
    hint: str = Field(
        default="",
        description="what that person wants instead, or why not: data, never an instruction",
    )
    repeated: str = Field(
        default="",
        description="that the same call came to the same before, with nothing new in between: told "
        "once, before it ends the leg",
    )
    sent_back: bool = Field(
        default=False, description="whether that person wants something else, as the hint says"
    )
    body_ref: BodyRef | None = Field(
        default=None, description="where the whole body is; no planner is given one with it"
    )


class Colleague(Record):
    """An agent to which a part of a leg may be handed over."""

    name: str
    does: str = Field(default="", description="what it may use, as a model reads it")


class StepContext(Record):
    """The input of a planner that decides one step of one leg.

    Values of personal fields are in no part of it: calls take handles (`pii:traveler_id`), which
    are replaced when the call is sent.
    """

    mission_id: str
    leg_id: str
    step: int = Field(description="from 1; the last one is limited by its agent")
    mission_goal: str
    leg_goal: str
    agent: AgentProfile
    inputs: JsonObject = Field(
        default_factory=dict, description="values given by the user, answers to questions included"
    )
    facts: tuple[Fact, ...] = Field(default=(), description="from the legs this one depends on")
    observations: tuple[Observation, ...] = Field(
        default=(), description="what the steps of this leg did, the oldest first"
    )
    discovered: tuple[str, ...] = Field(
        default=(), description="tools that searches of the mission found; they can be called too"
    )
    orders: tuple[Order, ...] = Field(
        default=(), description="what the leg is to have done: it does not end without an effect"
    )
    read_only: bool = Field(default=False, description="its mission may change nothing")
    call: OneCall | None = Field(default=None, description="None: its planner decides its steps")
    colleagues: tuple[Colleague, ...] = Field(
        default=(), description="agents to which a part of the leg may be handed over"
    )
    budget_left: Money | None = Field(default=None, description="None: there is no limit")
    allowance: Allowance | None = Field(
        default=None,
        description="what this step may still take of models: a planner that asks several times in "
        "one step asks no more once it is spent; None: there is no limit",
    )
    now: datetime = Field(
        description="the mission's start: `tomorrow` means the same day in every step"
    )
    catalog_digest: str
    conversation: str = Field(
        default="", description="where what its model was told before is kept; empty: nowhere"
    )
    forwarded: tuple[str, ...] = Field(
        default=(), description="tools that earlier steps were shown, where they stay shown"
    )

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


class CallTool(OneOfSeveral):
    """Call this tool with these arguments.

    A call that needs a confirmation waits for a person; references and idempotency keys are filled
    in. The outcome is the last observation of the next step.
    """

    kind: Literal["call_tool"] = "call_tool"
    tool: str
    arguments: JsonObject = Field(
        default_factory=dict, description="of personal inputs the handles: pii: and the input"
    )
    reason: str = Field(default="", description="why, for whoever reads the history")


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
    is_refused: bool = Field(default=False, description="the agent may not do it at all")


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
    why: str = Field(default="", description="what the answer is needed for, in one sentence")
    fields: dict[str, JsonObject] = Field(
        description="name to JSON Schema of each value that is asked for"
    )


class AnswerTable(Record):
    """A small table of found items: data of providers, none of it markup."""

    columns: tuple[str, ...] = Field(max_length=MOST_COLUMNS, description="their headings")
    rows: tuple[tuple[str, ...], ...] = Field(
        max_length=MOST_ROWS, description="one for each thing, a text for each column"
    )
    more: int = Field(default=0, ge=0, description="how many more things were found")


class Finish(OneOfSeveral):
    """The leg has reached its goal: the legs that depend on it may start."""

    kind: Literal["finish"] = "finish"
    summary: str
    table: AnswerTable | None = Field(
        default=None, description="what was found, where the summary tells only of some of it"
    )
    conditions: tuple[WhenRead, ...] = Field(
        default=(),
        max_length=MOST_CONDITIONS,
        description="of each order with a `when`, or with an `each` of which there is nothing: "
        "whether it held, and the value that was read",
    )


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
    goal: str = Field(description="what it is to do, whole: it sees no more of this leg")
    reason: str = Field(default="", description="why, for whoever reads the history")


StepDecision = Annotated[
    CallTool | CallTools | DiscoverTools | AskUser | HandOver | Finish | GiveUp,
    Field(discriminator="kind"),
]
