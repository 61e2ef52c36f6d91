"""Things that were found and that a clause rules out: they are not taken."""

from collections.abc import Sequence

from orchestrator.language.negation import Exclusion, exclusions
from orchestrator.language.quantifiers import place_in
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.order_of_things import equals, in_order


def left_after(items: Sequence[Item], clause: str) -> tuple[list[Item], str]:
    """The things that the clause does not rule out, and why there is none, or ''."""
    left = list(items)
    for exclusion in exclusions(clause):
        kept = _without(left, exclusion)
        if left and not kept:
            return [], f"all that was found is {exclusion.thing!r}, which was ruled out"
        left = kept
    return left, ""


def _without(items: list[Item], exclusion: Exclusion) -> list[Item]:
    place = place_in(f"the {exclusion.thing}")
    if place is not None and place.first == 0 and items:
        order, doubt = in_order(items, place.order)
        return items if doubt else [i for i in items if not equals(i, order[0], place.order)]
    words = {*content_stems(exclusion.thing)}
    return [item for item in items if not words or not words <= _said_of(item)]


def _said_of(item: Item) -> set[str]:
    """Stems of the words in a thing's texts, and in the names of what it says yes to."""
    texts = [v for v in item.fields.values() if isinstance(v, str)]
    texts += [name for name, value in item.fields.items() if value is True]
    return {stem(token) for text in texts for token in tokens(text)}
