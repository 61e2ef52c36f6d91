"""The end of a leg, or its question: the report of its effects, what was found, what is missing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import charged_price, plain_answer
from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import PII_PREFIX
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.inflection import participle, plural, singular
from orchestrator.language.words import STOP_WORDS, is_verb, tokens
from orchestrator.planning.models import (
    FINISH,
    MOST_COLUMNS,
    MOST_ROWS,
    AnswerTable,
    AskUser,
    Finish,
    GiveUp,
    Observation,
)
from orchestrator.planning.rules.chain import value_for
from orchestrator.planning.rules.choose import MOST_CHOICES, choose, keeps, matches
from orchestrator.planning.rules.items import (
    ASIDE,
    Item,
    flat_fields,
    goes_on,
    is_empty,
    is_listing,
    read_items,
)
from orchestrator.planning.rules.parameters import MONEY, Leaf
from orchestrator.planning.rules.split import Reading
from orchestrator.planning.rules.suits import days_of, why_not_taken
from orchestrator.saga.orders import WhenRead

_NAMES: Final = frozenset(["name", "title", "subject", "number", "label", "summary", "headline"])
_ASIDE: Final = ASIDE | {"meta"}
_NAMELESS: Final = "one without a name"
_LONGEST_CELL: Final = 80
_MOST_DETAILS: Final = 7


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
    clause = reading.clause.text  # a read ignores unused words, and triggers for no rule
    unused = [clause[one.start :].strip()[:120] for one in reading.account.triggers]
    unused += [run.text for run in reading.account.left_over]
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
    around = items[-1] if len(items) > 1 and items[0].label else None  # the answer with the list
    kept = [item for item in items if item.label or (item.own and item is not around)]
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
    named = ((str(leaf.path[-1]), tool, leaf) for tool, leaf in leaves if leaf.name not in personal)
    wanted = {name: (tool, leaf) for name, tool, leaf in named if name not in inputs}
    sides = {leaf.parameter.side for _, leaf in wanted.values()}
    if "start" in sides and any(map(days_of, clause.of_kind("duration", "number"))):
        # The end is computed from the start and the given length.
        wanted = {n: one for n, one in wanted.items() if one[1].parameter.side != "end"}
    if not wanted:
        names = ", ".join(dict.fromkeys(leaf.name for _, leaf in leaves))
        return GiveUp(reason=f"{reading.target.name} cannot be called without {names}")
    words = ", ".join(" ".join(leaf.parameter.words) for _, leaf in wanted.values())
    more = "one more thing is" if len(wanted) == 1 else "more is"
    first, leaf = next(iter(wanted.values()))
    amounts = clause.of_kind("amount") if leaf.parameter.kind in MONEY else []
    unclear = (why_not_taken(leaf.parameter, one) for one in amounts)
    unsaid = f"{first.title!r} takes it, and neither the goal nor an answer says it"
    return AskUser(
        question=f"For {clause.text!r} {more} needed: {words}.",
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


def _field_schema(leaf: Leaf) -> JsonObject:
    kept = ["type", "format", "enum", "description", "minimum", "maximum", "pattern", "items"]
    limits = {key: value for key, value in leaf.parameter.schema.items() if key in kept}
    return {**limits, "title": " ".join(leaf.parameter.words)}


# -- texts ---------------------------------------------------------------------------------------


def _first_words(tool: Tool) -> list[str]:
    return re.findall(r"[\w'-]+", re.split(r"[.,;:(]", tool.summary, maxsplit=1)[0])


def noun_of(tool: Tool) -> str:
    """Return the subject of a tool's answer, in the words of its summary: "invoices"."""
    words = _first_words(tool)
    found: list[str] = []
    for word in words[1:]:
        if word.lower() in STOP_WORDS:
            if found and found != ["list"]:
                break
            found = []
            continue
        found.append(word.lower())
    return " ".join(found[-3:]) or " ".join(tokens(tool.name)[1:]) or tool.name


def done_phrase(tool: Tool) -> str:
    """Return a tool's action as completed: "Post a note." becomes "Note posted"."""
    words = _first_words(tool)
    if len(words) < 2:
        return " ".join(tokens(tool.name)).capitalize()
    preposition = {"to", "for", "from", "in", "at", "with", "on", "of", "by", "back"}
    cut = next((n for n, w in enumerate(words) if w.lower() in preposition), len(words))
    articles = {"a", "an", "the", "one", "your", "selected", "chosen"}
    thing = [word for word in words[1:cut] if word.lower() not in articles]
    said = words[0].lower()
    verb = next((v for v in (said, said[:-1], said[:-2]) if is_verb(v)), said)
    phrase = " ".join([*thing, participle(verb), *words[cut:]])
    return phrase[:1].upper() + phrase[1:]


def read_result(
    tool: Tool, items: Sequence[Item], body: JsonValue, unused: str
) -> tuple[str, AnswerTable | None]:
    """Return the sentence and the table that answer a read with the intended items.

    `unused` is the sentence about the parts of the request that were not applied; else ''.
    """
    if is_listing(tool) or len(items) > 1:
        noun = noun_of(tool)
        count = len(items)
        named = singular(noun) if count == 1 else noun if noun.endswith("s") else plural(noun)
        first = f"{count} {named}" if count else f"No {named}"
        if not items:
            return f"{first} found.{unused}", None
        names = [", ".join(cell for _, cell in _cells(item)[:3]) for item in items[:3]]
        brief = "; ".join(name or _NAMELESS for name in names)
        more = f" and {len(items) - 3} more" if len(items) > 3 else ""
        return f"{first}: {brief}{more}.{unused}", table_of(items)
    found = details(plain_answer(tool, body))
    noun, said = noun_of(tool), ", ".join(found) or "an answer without details"
    return f"{noun[:1].upper()}{noun[1:]}: {said}.{unused}", None


def done_result(tool: Tool, bodies: Sequence[JsonValue], prices: Sequence[str]) -> str:
    """Return the sentence that reports the completed consequences."""
    phrase = done_phrase(tool)
    # Amounts are in units of their currency, as on the card.
    done = [details(plain_answer(tool, body))[:_MOST_DETAILS] for body in bodies]
    parts = [", ".join([*d, *([p] if p else [])]) for d, p in zip(done, prices, strict=True)]
    if len(parts) == 1:
        return f"{phrase}: {parts[0]}." if parts[0] else f"{phrase}."
    return f"{phrase}, {len(parts)} times: {'; '.join(filter(None, parts))}."


def label(item: Item) -> str:
    """Return an item's label for people: its name, then day, time and price."""
    cells = [cell for name, cell in _cells(item) if name != "price" and tokens(name)[-1:] != ["id"]]
    price = [str(item.price)] if item.price is not None else []
    return ", ".join([*dict.fromkeys([*cells[:4], *price])]) or _NAMELESS


def table_of(items: Sequence[Item]) -> AnswerTable | None:
    """Return the fields that identify, time and price items, one row each; None without any."""
    rows = [dict(_cells(item)) for item in items[:MOST_ROWS]]
    names = dict.fromkeys(name for row in rows for name in row)
    best = sorted(names, key=_rank)[:MOST_COLUMNS]
    columns = [name for name in names if name in best]
    if not columns:
        return None
    return AnswerTable(
        columns=tuple(" ".join(tokens(name)) for name in columns),
        rows=tuple(tuple(row.get(name, "") for name in columns) for row in rows),
        more=max(0, len(items) - len(rows)),
    )


def _cells(item: Item) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    own = {name: value for name, value in item.own_fields.items() if name not in _ASIDE}
    for name, value in flat_fields(own):
        if (text := _cell(name, value)) and name not in dict(found):
            found.append((name, text))
    if item.price is not None:
        priced = {n for n, v in found if lexicon.MONEY & set(tokens(n))}
        found = [pair for pair in found if pair[0] not in priced] + [("price", str(item.price))]
    found.sort(key=lambda pair: _rank(pair[0]))
    return found


_RANKS: Final = (
    (_NAMES | lexicon.TEXT, 0),
    (lexicon.BOOKKEEPING - {"status", "at"}, 7),
    (lexicon.DATE | lexicon.TIME | lexicon.START | lexicon.END, 1),
    (lexicon.PLACE, 2),
    (lexicon.MONEY, 3),
    (frozenset({"status", "state", "kind", "type"}), 4),
    (lexicon.IDENTIFIER, 6),
)


def _rank(name: str) -> int:
    words = set(tokens(name))
    return next((rank for named, rank in _RANKS if words & named), 5)


def _cell(name: str, value: JsonValue) -> str:
    words = tokens(name)
    if value is None or isinstance(value, bool) or not words or "url" in words:
        return ""
    if isinstance(value, dict):
        amount, currency = value.get("amount"), str(value.get("currency") or "")
        states_unit = isinstance(amount, str) and currency in amount
        text = str(amount) if states_unit else f"{amount} {currency}".strip()
        return text if amount is not None else ""
    text = str(value)
    return "" if text.startswith(("http", PII_PREFIX)) else text[:_LONGEST_CELL]


def details(body: JsonValue) -> list[str]:
    """Return an item's details for a reader: names, places, days, counts, its id."""
    found: list[str] = []
    own_id = ""
    shown = {k: v for k, v in body.items() if k not in _ASIDE} if isinstance(body, dict) else body
    for name, value in flat_fields(shown):
        words = tokens(name)
        text = _cell(name, value)
        if not text or words == ["client", "reference"]:
            continue
        if words[-1:] == ["id"]:
            own_id = own_id or f"reference {text}"
        elif isinstance(value, int | float):
            found.append(f"{' '.join(words)} {text}")
        elif (
            (len(text) <= 60 and not (set(words) & lexicon.BOOKKEEPING))
            or words[-1:] == ["status"]
            or "text" in words
        ):
            found.append(text)
    return [*dict.fromkeys(found)][:_MOST_DETAILS] + ([own_id] if own_id else [])


def not_applied(parts: Iterable[str]) -> str:
    """Return the sentence that names the unapplied parts of a request; '' without any."""
    named = ", ".join(repr(part) for part in dict.fromkeys(parts))
    return f" Not applied: {named}." if named else ""
