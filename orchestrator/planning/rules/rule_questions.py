"""Questions to a person: missing inputs, ambiguous values, and which of several items is meant."""

from collections.abc import Sequence

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.words import tokens
from orchestrator.planning.models import AskUser, GiveUp
from orchestrator.planning.rules.chain import value_for
from orchestrator.planning.rules.choose import MOST_CHOICES
from orchestrator.planning.rules.items import Item
from orchestrator.planning.rules.money import why_not_taken
from orchestrator.planning.rules.parameters import MONEY, Leaf
from orchestrator.planning.rules.result_text import label
from orchestrator.planning.rules.split import Reading
from orchestrator.planning.rules.suits import days_of


def ask_what_is_meant(reading: Reading, inputs: JsonObject) -> AskUser | None:
    """Return the question about a value whose words are ambiguous; None if there is none."""
    for draft in reading.chain.drafts:
        for leaf, candidate in draft.unsure:
            if leaf.name in inputs:
                continue
            schema: JsonObject = {"type": "string", "enum": [*candidate.readings]}
            return AskUser(
                question=f"What do you mean by {candidate.text!r}?",
                why=f"{draft.tool.title!r} takes it as {' '.join(leaf.parameter.words)}",
                fields={leaf.name: schema if candidate.readings else _field_schema(leaf)},
            )
    return None


def ask_for(
    leaves: Sequence[tuple[Tool, Leaf]], reading: Reading, inputs: JsonObject, catalog: Catalog
) -> AskUser | GiveUp:
    """Return the question for inputs that only a person can supply."""
    clause = reading.clause
    personal = {n for tool in catalog.tools.values() for n in tool.pii_fields}
    wanted = {
        _field_name(leaf): (tool, leaf)
        for tool, leaf in leaves
        if _field_name(leaf) not in inputs and leaf.name not in personal
    }
    sides = {leaf.parameter.side for _, leaf in wanted.values()}
    if "start" in sides and any(map(days_of, clause.of_kind("duration", "number"))):
        # The end is computed from the start and the given length.
        wanted = {n: one for n, one in wanted.items() if one[1].parameter.side != "end"}
    if not wanted:
        names = ", ".join(dict.fromkeys(leaf.name for _, leaf in leaves))
        return GiveUp(reason=f"{reading.target.name} cannot be called without {names}")
    named = ", ".join(" ".join(leaf.parameter.words) for _, leaf in wanted.values())
    more = "one more thing is" if len(wanted) == 1 else "more is"
    first, leaf = next(iter(wanted.values()))
    amounts = clause.of_kind("amount") if leaf.parameter.kind in MONEY else []
    unclear = (why_not_taken(leaf.parameter, one) for one in amounts)
    unsaid = f"{first.title!r} takes it, and neither the goal nor an answer says it"
    return AskUser(
        question=f"For {clause.text!r} {more} needed: {named}.",
        why=next(filter(None, unclear), unsaid),
        fields={name: _field_schema(leaf) for name, (_, leaf) in wanted.items()},
    )


def which(items: Sequence[Item], why: str, leaf: Leaf, consumer: Tool) -> AskUser:
    """Return a question with a readable choice for each candidate item."""
    options: list[JsonValue] = []
    for item in items[:MOST_CHOICES]:
        value = value_for(item, leaf)
        single = value[0] if isinstance(value, list) and value else value
        options.append({"const": single, "title": label(item)})
    more = len(items) - len(options)
    rest = f" ({more} more were found)" if more > 0 else ""
    return AskUser(
        question=f"Which one is meant for {consumer.title!r}? {why}{rest}.",
        why="what was said does not tell one from the others",
        fields={leaf.name: {"oneOf": options, "title": " ".join(tokens(leaf.name))}},
    )


def _field_name(leaf: Leaf) -> str:
    return str(leaf.path[-1]) if 0 in leaf.path or len(leaf.path) > 1 else leaf.name


def _field_schema(leaf: Leaf) -> JsonObject:
    kept = ["type", "format", "enum", "description", "minimum", "maximum", "pattern", "items"]
    limits = {key: value for key, value in leaf.parameter.schema.items() if key in kept}
    return {**limits, "title": " ".join(leaf.parameter.words)}
