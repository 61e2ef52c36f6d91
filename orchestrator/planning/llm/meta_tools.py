"""Meta tools: the steps of a leg that call no provider, as tools that a model can choose."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import with_subschemas
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

_TOLD_ELSEWHERE: Final = frozenset({"$defs", "description", "title"})


class AskedField(Record):
    """One value that the user is asked for."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")
    type: Literal["string", "number", "integer", "boolean"] = "string"
    description: str = ""


class Ask(Record):
    """What a model gives to ask the user."""

    question: str
    fields: tuple[AskedField, ...] = Field(min_length=1)


class Done(Record):
    """What a model gives to end its part."""

    summary: str


ASKED_BY_A_MODEL: Final = (
    "the model that plans this part asks it, in words that nothing proves: a stranger's text may "
    "be behind them, so answer only what the goal needs"
)
"""Whoever reads a question of ours beside it is to know which is which."""


@dataclass(frozen=True)
class MetaTool:
    """A meta tool as it is shown."""

    name: str
    description: str
    arguments: type[DiscoverTools | Ask | Done | GiveUp | HandOver]

    @property
    def parameters(self) -> JsonObject:
        """Its input schema; a call of the tool says already which kind of decision it is."""
        return plain_schema(self.arguments, without=("kind",))

    def decision(self, arguments: JsonObject) -> StepDecision:
        """The step that a call with these arguments stands for.

        Raises:
            ValidationError: the arguments do not fit.
        """
        given = {name: value for name, value in arguments.items() if name != "kind"}
        made = self.arguments.model_validate(given)
        if isinstance(made, Done):
            return Finish(summary=made.summary)
        if not isinstance(made, Ask):
            return made
        asked = {f.name: f.model_dump(include={"type", "description"}) for f in made.fields}
        return AskUser(question=made.question, why=ASKED_BY_A_MODEL, fields=asked)


DISCOVER: Final = "tools_discover"
"""Called tools.discover elsewhere: providers of models allow no dot in a tool's name."""
ASKED: Final = "user_ask"
ENDED: Final = "part_done"
META_TOOLS: Final = (
    MetaTool(
        DISCOVER,
        "Find tools that have no schema here, by a few words; the next step has their schemas.",
        DiscoverTools,
    ),
    MetaTool(ASKED, "Ask the user for values that no tool, fact or given input supplies.", Ask),
    MetaTool(ENDED, "End: your part is reached. Say in a sentence what was reached.", Done),
    MetaTool(
        "part_lost",
        "End: your part cannot be reached. What the mission has done so far is undone.",
        GiveUp,
    ),
)


_HAND_OVER: Final = MetaTool(
    HAND_OVER,
    "Have another agent do a part of your goal with its own tools; you are told what it found. "
    "Only what your own tools cannot do.",
    HandOver,
)


def meta_tools(context: StepContext) -> tuple[MetaTool, ...]:
    """The meta tools of a step: a part can be handed over where there is somebody to take it."""
    if not context.colleagues:
        return META_TOOLS
    told = "; ".join(f"{one.name}: {one.does}" for one in context.colleagues)
    offer = replace(_HAND_OVER, description=f"{_HAND_OVER.description} Agents: {told}.")
    return (*META_TOOLS, offer)


def plain_schema(
    record: type[Record], *, told: bool = False, without: Iterable[str] = ()
) -> JsonObject:
    """The JSON Schema of a record as models are shown it; `told`: with its descriptions."""
    made = record.model_json_schema()
    for name in without:
        made["properties"].pop(name, None)
    return _plain(made, made, frozenset({"description"}) if told else frozenset())


def _plain(schema: JsonObject, root: JsonObject, keep: frozenset[str]) -> JsonObject:
    """What constrains: without titles, descriptions, empty defaults and references."""
    told = resolve(schema, root).items()
    dropped = _TOLD_ELSEWHERE - keep
    kept = {k: v for k, v in told if k not in dropped and (k, v) != ("default", "")}
    return with_subschemas(kept, lambda inner: _plain(inner, root, keep), ("items", "properties"))
