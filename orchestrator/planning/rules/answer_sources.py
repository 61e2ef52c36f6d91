"""Values for a tool's inputs out of answers: which thing of which answer gives its values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.quantifiers import place_in
from orchestrator.language.words import stem, tokens
from orchestrator.planning.already_done import state_reached
from orchestrator.planning.rules.answers import Item, is_listing, tells_what_is_made
from orchestrator.planning.rules.argument_draft import ArgumentDraft, Lack
from orchestrator.planning.rules.found_call import FoundCall, is_in, is_offer
from orchestrator.planning.rules.how_many import how_many, needs_the_very_one
from orchestrator.planning.rules.items import Picking, spoken_text
from orchestrator.planning.rules.narrowing import called_as_said, narrowed
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.ranking import Ranking, mentioned, rank_items
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.thing_choices import choice_of_one, gives

_NOT_FROM_ITEMS: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.QUERY, Kind.OBJECT, Kind.CONSTANT})
_MAX_ALTERNATIVES: Final = 50


def add_from_answers(tool: Tool, stated: ArgumentDraft, situation: Situation) -> Lack | None:
    """Add what answers give the required inputs: all that one thing has are taken from it.

    A call that nobody will be asked to confirm is not made on a guess between several things, and
    no call on a thing of which nothing says that it is what was asked for.

    Returns:
        Why nothing was added: none of the things will do, or a person must choose between them.
    """
    lacking = [p for p in stated.parameters if p.required and p.name not in stated.values]
    call = FoundCall(tool, lacking, stated.values, situation)
    values: JsonObject = {}
    for items, finder, is_own in call.pools():
        left = [p for p in call.inputs if p.name not in values]
        wanted = [p for p in left if p.is_produced or (is_own and p.kind not in _NOT_FROM_ITEMS)]
        offered = [i for i in items if (g := gives(i, wanted)) and not call.is_not_meant(g)]
        if not offered:
            continue
        offered = call.spoken_of(offered, finder)
        ranking = rank_items(_distinct(offered, wanted), call.wish(finder))
        several = _several(call, ranking, wanted, finder)
        if isinstance(several, Lack):
            return several
        may = several or call.instead(ranking, wanted)
        fresh = [i for i in may if not call.has_failed_with(gives(i, wanted))]
        if not fresh:
            return Lack(reason=call.why_none(ranking))
        followed = call.follow_hints(fresh, wanted, finder)
        if followed.refusal or not followed.is_read:
            return Lack(choice_of_one(wanted, fresh), note=followed.refusal or _unread(situation))
        fresh = list(followed.items)
        if not several and is_own and _is_answered_by(finder, call.tool, ranking):
            return Lack(listed_by=finder.name)
        if not several and (lack := _undecided(call, ranking, fresh, wanted, finder)) is not None:
            return lack
        values |= gives(fresh[0], [p for p in left if p.kind in (Kind.TITLE, Kind.TEXT)])
        values |= gives(fresh[0], wanted)
        stated.notes.append(_why_this(fresh, finder, situation))
    stated.values.update(values)
    return None


def _several(
    call: FoundCall, ranking: Ranking, wanted: list[Parameter], finder: Tool
) -> list[Item] | Lack:
    """What is left of several things that are asked for; nothing where one is, or any of them."""
    asked = how_many(call.tool, call.situation)
    keys = [p for p in wanted if p.is_produced and any(gives(i, [p]) for i in ranking.items)]
    place = place_in(call.situation.utterance.text)
    is_distinct = needs_the_very_one(call.tool) or place is not None
    if not (asked.is_several and keys):
        return []
    is_distinct = is_distinct or asked.number is None
    if not (is_distinct and asked.is_of(keys[0], call.tool)):
        return [] if needs_the_very_one(call.tool) else alike_and_left(call, ranking, wanted)
    if ranking.refusal:
        return Lack(reason=ranking.refusal)
    if asked.number is None:
        ranking = replace(ranking, items=_to_be_done(ranking.items, call.tool, finder))
    picking = Picking(call.tool, call.situation, asked, keys[0])
    return picking.left(ranking, call.heeded(finder), call.known(finder))


def _to_be_done(items: tuple[Item, ...], tool: Tool, finder: Tool) -> tuple[Item, ...]:
    """Of all there are, those that are not as the tool would make them: what is to be paid."""
    left = (item for item in items if not state_reached(item.fields, tool, finder))
    return tuple(left) or items


def alike_and_left(call: FoundCall, ranking: Ranking, wanted: list[Parameter]) -> list[Item]:
    """For one more of what was taken: what is like it, else that once more; [] for the first.

    A second table is one in the same restaurant, a second room one of the same kind.
    """
    done = [o for o in call.situation.tried(call.tool) if o.outcome == "succeeded"]
    taken = [i for i in ranking.items if any(is_in(one, gives(i, wanted)) for one in done)]
    left = [i for i in ranking.items if i not in taken]
    alike = [i for i in left if taken and texts_of(i) == texts_of(taken[0])]
    return [*alike, *taken, *(i for i in left if i not in alike)] if taken else []


def texts_of(item: Item) -> JsonObject:
    """What a thing says of itself in words, its ids left out."""
    return {
        name: value
        for name, value in item.fields.items()
        if name in item.own and isinstance(value, str) and not lexicon.IDENTIFIER & {*tokens(name)}
    }


def _is_answered_by(finder: Tool, tool: Tool, ranking: Ranking) -> bool:
    """Whether the list of what there is answers, since no one thing of it alone is what is meant.

    What was charged is not told by the first of two invoices.
    """
    lists_all = not finder.is_side_effect and not finder.required_inputs and is_listing(finder)
    is_unsure = bool(ranking.doubt) or not ranking.is_meant or ranking.tied > 1
    return not tool.is_side_effect and lists_all and is_unsure


def _undecided(
    call: FoundCall, ranking: Ranking, fresh: list[Item], wanted: list[Parameter], finder: Tool
) -> Lack | None:
    """The question which of the things is meant; None where nothing is in doubt."""
    if ranking.doubt and not call.situation.hints:
        return Lack(choice_of_one(wanted, fresh), note=ranking.doubt)
    if not ranking.is_meant:
        return Lack(choice_of_one(wanted, fresh))
    tied = fresh[: ranking.tied]
    if len(tied) < 2 or call.situation.hints or not call.tool.is_side_effect:
        return None
    # What was made already is no offer, though it has a price and a day.
    made = any(tells_what_is_made(finder, t) for t in call.situation.catalog.tools.values())
    if not needs_the_very_one(call.tool) and not made and all(map(is_offer, tied)):
        return None if call.tool.needs_confirmation else Lack(choice_of_one(wanted, tied))
    text = spoken_text(call.situation.utterance)
    tied = called_as_said(tied, text, call.known(finder))
    meant = narrowed(
        tied,
        call.situation.utterance,
        used=call.heeded(finder),
        known=call.known(finder),
        text=text,
    )
    # What else a booking is told, such as its day, is for its offers.
    unread = meant.unread if needs_the_very_one(call.tool) else ()
    unread = tuple(said for said in unread if not _is_borne_by_another(said, call, finder))
    if len(meant.items) == 1 and not unread:
        fresh[:] = [*meant.items, *(i for i in fresh if i not in meant.items)]
        return None
    if unread:
        note = f"nothing that was found says {', '.join(map(repr, unread))}"
    else:
        note = f"{len(meant.items)} that were found fit, one as well as another"
    return Lack(choice_of_one(wanted, meant.items), note=note)


def _is_borne_by_another(said: str, call: FoundCall, finder: Tool) -> bool:
    """Whether a thing that was found for another input of the call is called so.

    "Subscribe Olga to a box, pickup at Mill Yard": one is a member, the other a place.
    """
    wanted = {stem(word) for word in tokens(said)}
    others = (items for items, by, is_own in call.pools() if is_own and by is not finder)
    return any(wanted <= mentioned(item) for items in others for item in items)


def _unread(situation: Situation) -> str:
    said = situation.hints[0].text if situation.hints else ""
    return f"nothing that was found is told apart by {said!r}"


def _why_this(fresh: Sequence[Item], finder: Tool, situation: Situation) -> str:
    """Why the first of the things is proposed, for the person who decides."""
    hints = [repr(hint.text) for hint in situation.hints]
    asked = f"what was asked for ({', '.join(reversed(hints))})" if hints else "what was asked for"
    if len(fresh) == 1:
        return f"the only one left of what {finder.title!r} found, by {asked}"
    return f"the first of {len(fresh)} that {finder.title!r} found, by {asked} and then by price"


def _distinct(items: list[Item], wanted: list[Parameter]) -> list[Item]:
    """Things that give different values, the richest of each kind, in their order."""
    seen: dict[str, Item] = {}
    for item in items:
        seen.setdefault(repr(sorted(gives(item, wanted).items())), item)
    return list(seen.values())[:_MAX_ALTERNATIVES]
