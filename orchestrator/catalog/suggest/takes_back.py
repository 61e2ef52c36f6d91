"""Which operation takes back what another one makes, told by their paths."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.catalog.suggest.path_shape import PathShape
from orchestrator.catalog.suggest.survey import Surveyed
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.words import action_of, name_words

_BY_WORD = frozenset({"POST", "PUT", "PATCH"})
_LIKE_A_CANCEL = frozenset({"refund", "archive"})
"""What may stand for a cancel: money comes back, a thing is put away."""


@dataclass(frozen=True)
class Removal:
    """An operation on one thing that may take it back."""

    by: Surveyed
    item: PathShape
    """The path of the thing: `/orders/{order_id}` of `/orders/{order_id}/cancel`."""
    is_plain: bool
    """A DELETE, or a verb that says nothing but that: cancel, void, revoke."""


@dataclass(frozen=True)
class Undoing:
    """What makes things, and all that may take them back."""

    maker: Surveyed
    removals: tuple[Removal, ...]
    is_same_path: bool
    """Whether the thing stands below the path it is made at: `/orders` and `/orders/{order_id}`."""


def matches(listed: Iterable[Surveyed]) -> Iterator[Undoing]:
    """Each POST to a collection with what may undo it, in the order of the document."""
    known = [one for one in listed if one.tool is not None]
    removals: dict[tuple[str, ...], list[Removal]] = defaultdict(list)
    for one in known:
        if (removal := _removal(one)) is not None:
            removals[removal.item.segments].append(removal)
    makers = [one for one in known if one.method == "POST" and not one.shape.ends_in_parameter]
    at = {maker.shape.segments for maker in makers}
    for maker in makers:
        same = removals.get((*maker.shape.segments, "{}"), [])
        found = same or _elsewhere(maker, removals, at)
        if found:
            yield Undoing(maker, tuple(found), is_same_path=bool(same))


def _removal(one: Surveyed) -> Removal | None:
    if one.method == "DELETE":
        return Removal(one, one.shape, True) if one.shape.ends_in_parameter else None
    words, item = name_words(one.shape.last), one.shape.parent
    if one.method not in _BY_WORD or not item.ends_in_parameter or len(words) != 1:
        return None
    # A path may name the deed as a thing: `/payments/{id}/cancels`.
    deed = singular(words[0])
    if Action.CANCEL in (action_of(words[0]), action_of(deed)):
        return Removal(one, item, True)
    return Removal(one, item, False) if deed in _LIKE_A_CANCEL else None


def _elsewhere(
    maker: Surveyed,
    removals: Mapping[tuple[str, ...], list[Removal]],
    makers: set[tuple[str, ...]],
) -> list[Removal]:
    """What removes a thing of that name at the top: of `/lists/{id}/tasks` `/tasks/{task_id}`.

    Only where nothing else makes things there.
    """
    ends = [
        segments
        for segments in removals
        if segments[:-1] not in makers
        and segments.count("{}") == 1
        and segments[-2:-1] == (maker.shape.last,)
        and segments != (*maker.shape.segments, "{}")
    ]
    return removals[ends[0]] if len(ends) == 1 else []
