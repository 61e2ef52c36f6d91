"""Meta tools: the steps of a leg that call no provider, as tools that a model can choose."""

from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from orchestrator.core.errors import DecisionInvalid
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, required_of, with_subschemas
from orchestrator.planning.models import (
    HAND_OVER,
    AskUser,
    DiscoverTools,
    Finish,
    GiveUp,
    HandOver,
    StepContext,
    StepDecision,
)
from orchestrator.saga.orders import WhenRead

_NAME: Final = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"
_TOLD_ELSEWHERE: Final = frozenset({"$defs", "description", "title"})


class AskedField(Record):
    """A value that the user is asked for."""

    name: str = Field(pattern=_NAME)
    type: Literal["string", "number", "integer", "boolean"] = "string"
    description: Annotated[str, SkipJsonSchema()] = ""
    """Accepted, but not requested, as the question covers it."""
    choices: tuple[str, ...] = ()

    @property
    def schema_asked(self) -> JsonObject:
        """Return the JSON Schema of the value."""
        asked: JsonObject = {"type": self.type, "description": self.description}
        return {**asked, "enum": [*self.choices]} if self.choices else asked


class Ask(Record):
    """The arguments by which a model asks the user."""

    question: str
    fields: tuple[AskedField, ...] = Field(min_length=1)


class Done(Record):
    """The arguments by which a model ends its part."""

    summary: str
    conditions: tuple[WhenRead, ...] = ()
    outputs: JsonObject = Field(default_factory=dict)


ASKED_BY_A_MODEL: Final = (
    "the model that plans this part asks it, in words that nothing proves: a stranger's text may "
    "be behind them, so answer only what the goal needs"
)
"""The reason on a question of a model, which people must not mistake for one of ours."""
_READ_BY_TYPE: Final = frozenset({"pattern", "default", "minItems"})
"""Keywords that validate answers, and that are not worth their tokens in every prompt."""


@dataclass(frozen=True)
class MetaTool:
    """A meta tool in the form that a model sees."""

    name: str
    description: str
    arguments: type[DiscoverTools | Ask | Done | GiveUp | HandOver]
    without: tuple[str, ...] = ("kind",)
    """Properties that are not shown, as the call itself implies the kind of decision."""
    outputs: JsonObject | None = None
    """JSON Schema of the outputs that an ending gives, if a written workflow wants any."""

    @property
    def parameters(self) -> JsonObject:
        """The JSON Schema of its arguments."""
        made = self.arguments.model_json_schema()
        for name in self.without:
            made["properties"].pop(name, None)
        shown = _plain(made, made)
        if self.outputs is not None:
            shown["properties"] = {**properties_of(shown), "outputs": self.outputs}
            shown["required"] = [*required_of(shown), "outputs"]
        return shown

    def decision(self, arguments: JsonObject) -> StepDecision:
        """Return the step that a call with these arguments means.

        Raises:
            DecisionInvalid: the arguments are invalid.
        """
        given = {name: value for name, value in arguments.items() if name != "kind"}
        try:
            made = self.arguments.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise DecisionInvalid(f"{self.name}: {place}: {first['msg']}") from error
        if isinstance(made, Done):
            return Finish(**dict(made))
        if not isinstance(made, Ask):
            return made
        asked = {one.name: one.schema_asked for one in made.fields}
        return AskUser(question=made.question, why=ASKED_BY_A_MODEL, fields=asked)


DISCOVER: Final = "tools_discover"
"""Called tools.discover elsewhere; model providers allow no dot in a tool's name."""
ASKED: Final = "user_ask"
ENDED: Final = "part_done"
META_TOOLS: Final = (
    MetaTool(
        DISCOVER, "Find tools by a few words; the next step has their schemas.", DiscoverTools
    ),
    MetaTool(ASKED, "Ask the user for values that nothing else supplies.", Ask),
    MetaTool(
        ENDED,
        "End: your part is reached. Say in a sentence what was reached.",
        Done,
        ("kind", "conditions", "outputs"),
    ),
    MetaTool(
        "part_lost",
        "End: your part cannot be reached. What the mission has done so far is cancelled.",
        GiveUp,
    ),
)


_HAND_OVER: Final = MetaTool(
    HAND_OVER,
    "Have another agent do a part of your goal with its own tools; its result is yours. Only what "
    "your own tools cannot do.",
    HandOver,
)


def meta_tools(context: StepContext) -> tuple[MetaTool, ...]:
    """Return the meta tools of a step.

    An ending states for each condition of an order if it holds; a part can be handed over if there
    is an agent to take it.
    """
    made = {meta.name: meta for meta in META_TOOLS}
    asked = (text for order in context.orders for text in (order.when, order.each) if text)
    if whens := "; ".join(map(repr, dict.fromkeys(asked))):
        about = (
            f"{made[ENDED].description} conditions: whether each of {whens} holds (of a list: that "
            "anything is on it), and the value read that says so."
        )
        made[ENDED] = replace(made[ENDED], description=about, without=("kind", "outputs"))
    if context.output_schema is not None:
        about = f"{made[ENDED].description} outputs: values that answers have, none invented."
        made[ENDED] = replace(made[ENDED], description=about, outputs=context.output_schema)
    if context.colleagues:
        agents = "; ".join(f"{one.name}: {one.does}" for one in context.colleagues)
        about = f"{_HAND_OVER.description} Agents: {agents}."
        made[HAND_OVER] = replace(_HAND_OVER, description=about)
    return tuple(made.values())


def _plain(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Return only constraints: no titles, descriptions, defaults or references."""
    shown = resolve(schema, root)
    kept = {k: v for k, v in shown.items() if k not in _TOLD_ELSEWHERE | _READ_BY_TYPE}
    return with_subschemas(kept, lambda inner: _plain(inner, root), ("items", "properties"))
