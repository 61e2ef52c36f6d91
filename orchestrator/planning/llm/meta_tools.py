"""Meta tools: the steps of a leg that call no provider, as tools that a model can choose."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import JsonObject, Record
from orchestrator.planning.models import AskUser, DiscoverTools, Finish, GiveUp, StepDecision


class AskedField(Record):
    """One value that the user is asked for."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")
    type: Literal["string", "number", "integer", "boolean"] = "string"
    description: str = ""


class Discover(Record):
    """Find tools that have no schema here, by a few words; the next step has their schemas."""

    query: str


class Ask(Record):
    """Ask the user for values that no tool, fact or given input supplies."""

    question: str
    fields: tuple[AskedField, ...] = Field(min_length=1)


class Done(Record):
    """End: your part is reached. Say in a sentence what was reached."""

    summary: str


class Lost(Record):
    """End: your part cannot be reached. What the mission has done so far is undone."""

    reason: str


@dataclass(frozen=True)
class MetaTool:
    """A meta tool as it is shown."""

    name: str
    arguments: type[Discover | Ask | Done | Lost]

    @property
    def description(self) -> str:
        """What it is for."""
        return " ".join((self.arguments.__doc__ or "").split())

    @property
    def parameters(self) -> JsonObject:
        """Its input schema, without the titles and definitions that pydantic adds."""
        made = self.arguments.model_json_schema()
        schema = _plain(made, made.pop("$defs", {}))
        assert isinstance(schema, dict)
        schema.pop("description", None)
        return schema

    def decision(self, arguments: JsonObject) -> StepDecision:
        """The step that a call with these arguments stands for.

        Raises:
            ValidationError: the arguments do not fit.
        """
        match self.arguments.model_validate(arguments):
            case Discover(query=query):
                return DiscoverTools(query=query)
            case Ask(question=question, fields=fields):
                asked = {f.name: f.model_dump(include={"type", "description"}) for f in fields}
                return AskUser(question=question, fields=asked)
            case Done(summary=summary):
                return Finish(summary=summary)
            case Lost(reason=reason):
                return GiveUp(reason=reason)


DISCOVER: Final = "tools_discover"
"""Called tools.discover elsewhere: providers of models allow no dot in a tool's name."""
META_TOOLS: Final = (
    MetaTool(DISCOVER, Discover),
    MetaTool("user_ask", Ask),
    MetaTool("part_done", Done),
    MetaTool("part_lost", Lost),
)


def _plain(node: object, defined: Mapping[str, dict[str, object]]) -> object:
    """Without titles and empty defaults, each definition in the place that refers to it."""
    if isinstance(node, list):
        return [_plain(item, defined) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(to := node.get("$ref"), str):
        meant = defined[to.rpartition("/")[2]]
        return _plain({k: v for k, v in meant.items() if k != "description"}, defined)
    return {
        key: _plain(value, defined)
        for key, value in node.items()
        if (key != "title" or isinstance(value, dict)) and (key, value) != ("default", "")
    }
