"""The end of a leg, or its question: the report of its effects, what was found, what is missing."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import charged_price
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.words import tokens
from orchestrator.planning.models import FINISH, AskUser, Finish, GiveUp, Observation
from orchestrator.planning.rules.chain import value_for
from orchestrator.planning.rules.choose import MOST_CHOICES, choose, keeps, matches
from orchestrator.planning.rules.items import Item, goes_on, is_empty, is_listing, read_items
from orchestrator.planning.rules.parameters import MONEY, Leaf
from orchestrator.planning.rules.result_text import (
    done_result,
    label,
    not_applied,
    noun_of,
    read_result,
)
from orchestrator.planning.rules.split import Reading
from orchestrator.planning.rules.suits import days_of, why_not_taken
from orchestrator.saga.orders import WhenRead


def stopped_by(observations: Sequence[Observation]) -> GiveUp | None:
    """Return the end that stops the leg for good: a policy, or an unclear side effect."""
    for seen in observations:
        if seen.outcome == "refused" and seen.tool != FINISH and not seen.refused_by:
            return GiveUp(reason=f"{seen.tool} was refused: {seen.error or 'no reason given'}")
        if seen.side_effect and seen.outcome == "unknown":
            return GiveUp(
                reason=f"it is unclear whether {seen.tool} took effect: {seen.error or 'no answer'}"
            )
    return None


def none_of_each(reading: Reading, seen: Sequence[Observation]) -> Finish | None:
    """Return the end for an order about each item of an empty list."""
    each = reading.account.is_all
    if not (reading.target.is_side_effect and each):
        return None
    done = [o for o in seen if o.outcome == "succeeded"]
    if done and is_empty(done[-1].body) and not any(o.side_effect for o in done):
        read = WhenRead(when=each, holds=False, read=f"{done[-1].tool} lists none")
        return Finish(summary=f"Nothing to do: there is none of {each!r}.", conditions=(read,))
    return None


def finish(
    reading: Reading, done: Sequence[Observation], output_schema: JsonObject | None = None
) -> Finish | GiveUp:
    """Return the end of a leg after its calls: their report, or what was found instead.

    Args:
        reading: of the leg's clause.
        done: its calls that succeeded.
        output_schema: JSON Schema of the outputs that a written workflow wants, if it does.
    """
    target = reading.target
    items = [
        item for seen in done for item in read_items(seen.body, tool=target, asked=seen.arguments)
    ]
    outputs = _outputs(output_schema, items)
    if target.is_side_effect:
        charged = (s.price or charged_price(target, s.arguments, s.body) for s in done)
        prices = [str(price or "") for price in charged]
        said = done_result(target, [seen.body for seen in done], prices)
        return Finish(summary=said, outputs=outputs)
    unused = _unused_of(reading)
    if len(done) > 1 and not is_listing(target):
        sentences = [read_result(target, [], seen.body, "")[0] for seen in done]
        return Finish(summary=" ".join(sentences) + not_applied(unused), outputs=outputs)
    found = _fitting(reading, items)
    if isinstance(found, GiveUp):
        return found
    kept, missed = found
    body = done[-1].body if done else None
    more = " The list goes on." if is_listing(target) and goes_on(body) else ""
    text, table = read_result(target, kept, body, f"{not_applied([*unused, *missed])}{more}")
    return Finish(summary=text, table=table, outputs=_outputs(output_schema, kept))


def _outputs(output_schema: JsonObject | None, items: Sequence[Item]) -> JsonObject:
    """Return the wanted fields of the items: all values for a list, else the one that all have."""
    found: JsonObject = {}
    for name, schema in properties_of(output_schema or {}).items():
        values = [value for item in items if (value := item.value(name)) is not None]
        if schema.get("type") == "array" and not any(isinstance(one, list) for one in values):
            found[name] = [*values]
        elif values and all(one == values[0] for one in values):
            found[name] = values[0]
    return found


def _fitting(reading: Reading, items: list[Item]) -> tuple[list[Item], list[str]] | GiveUp:
    """Return the items that the clause's other words match, and the words that match none."""
    account = reading.account
    said = [c.span for draft in reading.chain.drafts for c in draft.said.values()]
    runs = [
        run  # the others are inputs of the call itself, such as the list's owner
        for run in account.filters
        if not any(start <= run.span[0] and run.span[1] <= end for start, end in said)
    ]
    if not is_listing(reading.target):
        return items, [run.text for run in runs]
    kept = [item for item in items if item.label or (item.own and not _is_wrapper(item, items))]
    missed: list[str] = []
    for run in runs:
        if fitting := [item for item in kept if matches(item, run)]:
            kept = fitting
        elif run.is_value and kept:
            found = f"{len(kept)} were found ({noun_of(reading.target)})"
            return GiveUp(reason=f"{found}, none of them {run.text!r}")
        else:
            missed.append(run.text)
    if not kept or not (account.superlative or account.limits):
        return kept, missed
    choice = choose(
        kept,
        replace(account, filters=(), count=None),
        consumer=reading.target,
        asked={},
        offers=False,
        most=len(kept),
    )
    if choice.items or not account.superlative:
        unread = [one.text for one in account.limits if not all(keeps(i, one) for i in choice.asks)]
        return [*(choice.items or choice.asks)], [*missed, *unread]
    return kept, [*missed, choice.why]


def _unused_of(reading: Reading) -> list[str]:
    """Return the parts that a read ignores: unused words, and triggers for no rule."""
    text, account = reading.clause.text, reading.account
    unread = [text[one.start :].strip()[:120] for one in account.triggers]
    return [*unread, *(run.text for run in account.left_over)]


def _is_wrapper(item: Item, items: Sequence[Item]) -> bool:
    """Return True if an item is the answer around a list rather than a member."""
    return not item.label and len(items) > 1 and item is items[-1] and bool(items[0].label)


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
