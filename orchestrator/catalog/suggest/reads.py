"""Which calls only read, though their method may change something."""

from orchestrator.catalog.function_effects import read_description, read_name
from orchestrator.catalog.suggest.survey import Surveyed
from orchestrator.catalog.tool import Effect
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.words import (
    COMPUTING_VERBS,
    NOUN_LIKE_VERBS,
    WARY_VERBS,
    action_of,
    action_of_stem,
    is_verb,
    name_words,
    stem,
    tokens,
)

_READING = (Action.READ, Action.SEARCH)
_UNSURE = WARY_VERBS | COMPUTING_VERBS
_OTHER_ANSWERS = ("201", "202")


def surely_reads(one: Surveyed) -> bool:
    """Whether a POST only searches: its path ends in such a verb, and its own words agree.

    The verb is the last word, `/orders/search`, and no answer speaks of something made.
    """
    if one.method != "POST" or one.tool is None or one.tool.output_schema is None:
        return False
    words = name_words(one.shape.last)
    # What converts a visitor changes one; what converts an amount may be told by its owner.
    ends_in_verb = action_of(words[-1]) in _READING and words[-1] not in _UNSURE
    is_plain = ends_in_verb and len(words) == 1 and not _speaks_of_change(one)
    return is_plain and _reads_by_words(one) and _answers_only(one)


def _speaks_of_change(one: Surveyed) -> bool:
    """Whether its description says anywhere that something is done: "creates a filtered report".

    A word of the path is its thing, an upload, and no deed.
    """
    said = one.tool.description if one.tool is not None else ""
    things = {*tokens(one.operation.path)}
    told = [word for word in tokens(said) if word.endswith("s") and word not in things]
    return any(
        action_of_stem(stem(word)) in SIDE_EFFECT_ACTIONS
        and (is_verb(word[:-1]) or is_verb(word[:-2]))
        and word[:-1] not in NOUN_LIKE_VERBS
        for word in told
    )


def may_read(one: Surveyed) -> bool:
    """Whether the words of a POST say that it reads, which a path does not bear out."""
    return one.method == "POST" and _reads_by_words(one) and _answers_only(one)


def _answers_only(one: Surveyed) -> bool:
    return one.statuses.isdisjoint(_OTHER_ANSWERS)


def _reads_by_words(one: Surveyed) -> bool:
    if one.tool is None:
        return False
    named = read_name(one.name)
    said = f"{one.tool.summary.rstrip('.')}. {one.tool.description}".strip(". ")
    described = read_description(said, one.name)
    return (named.reads or described.reads) and not (named.changes or described.changes)


def is_read(one: Surveyed) -> bool:
    """Whether HTTP says that it reads."""
    return one.tool is not None and one.tool.effect is Effect.READ
