"""The end of a leg: the report of its consequences, or of the items that a read is about."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.catalog.prices import charged_price
from orchestrator.planning.models import FINISH, Finish, GiveUp, Observation
from orchestrator.planning.rules.choose import choose, matches
from orchestrator.planning.rules.items import Item, is_empty, is_listing, read_items
from orchestrator.planning.rules.result_text import done_result, not_applied, noun_of, read_result
from orchestrator.planning.rules.split import Reading
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


def finish(reading: Reading, done: Sequence[Observation]) -> Finish | GiveUp:
    """Return the end of a leg after its calls: their report, or what was found instead."""
    target = reading.target
    if target.is_side_effect:
        charged = (s.price or charged_price(target, s.arguments, s.body) for s in done)
        prices = [str(price or "") for price in charged]
        return Finish(summary=done_result(target, [seen.body for seen in done], prices))
    unused = _unused_of(reading)
    if len(done) > 1 and not is_listing(target):
        sentences = [read_result(target, [], seen.body, "")[0] for seen in done]
        return Finish(summary=" ".join(sentences) + not_applied(unused))
    items = [
        item for seen in done for item in read_items(seen.body, tool=target, asked=seen.arguments)
    ]
    found = _fitting(reading, items)
    if isinstance(found, GiveUp):
        return found
    kept, missed = found
    body = done[-1].body if done else None
    text, table = read_result(target, kept, body, not_applied([*unused, *missed]))
    return Finish(summary=text, table=table)


def _fitting(reading: Reading, items: list[Item]) -> tuple[list[Item], list[str]] | GiveUp:
    """Return the items that the clause's other words match, and the words that match none."""
    account = reading.account
    if not is_listing(reading.target):
        return items, [run.text for run in account.filters]
    kept = [item for item in items if item.label or (item.own and not _is_wrapper(item, items))]
    missed: list[str] = []
    said = [c.span for draft in reading.chain.drafts for c in draft.said.values()]
    for run in account.filters:
        if any(start <= run.span[0] and run.span[1] <= end for start, end in said):
            continue  # the call's own input, such as the list's owner
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
        return [*(choice.items or choice.asks)], missed
    return kept, [*missed, choice.why]


def _unused_of(reading: Reading) -> list[str]:
    """Return the parts that a read ignores: unused words, and triggers for no rule."""
    text, account = reading.clause.text, reading.account
    unread = [text[one.start :].strip()[:120] for one in account.triggers]
    return [*unread, *(run.text for run in account.left_over)]


def _is_wrapper(item: Item, items: Sequence[Item]) -> bool:
    """Return True if an item is the answer around a list rather than a member."""
    return not item.label and len(items) > 1 and item is items[-1] and bool(items[0].label)
