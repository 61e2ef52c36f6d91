"""Which tool reaches a request: the router reads it, and the first tool that does it is taken."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import RequestUnread
from orchestrator.core.wall import Wall
from orchestrator.language.clause_reading import tells_something
from orchestrator.language.clauses import question_in
from orchestrator.language.degrees import comparison_in, degrees_in
from orchestrator.language.inflection import singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, IntentFrame
from orchestrator.language.owing import who_owes
from orchestrator.language.synonyms import meanings_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import QUESTION_WORDS, WARY_VERBS, content_stems, tokens
from orchestrator.planning.models import Observation
from orchestrator.planning.order_deeds import (
    changes_so,
    commands,
    is_asked_for_by,
    is_what_is_done,
    named,
    reaches,
    tells,
)
from orchestrator.planning.rules.answers import answer_fields, is_listing, tells_what_is_made
from orchestrator.planning.rules.field_listers import AUXILIARIES, field_lister, needs_nothing
from orchestrator.planning.rules.kinds_said import is_of_kind, kind_said
from orchestrator.planning.rules.parameters import DAYS, Kind, tool_parameters
from orchestrator.planning.rules.tellers import (
    best_tellers,
    lists_of_payer,
    only_lister,
    payer,
    unsaid,
)
from orchestrator.planning.rules.telling.inquiry import RANKED, kind_asked
from orchestrator.planning.rules.tool_words import is_named, listed_values
from orchestrator.planning.rules.wished_things import wished_for
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext, Selection

_ADD: Final = "add"
_PAST: Final = WordLists("matching").word_set("of_the_past")
_HAVING: Final = frozenset(WordLists("telling").lines("having"))
_MINE: Final = WordLists("telling").word_set("mine")
_HAD_BY: Final = WordLists("telling").word_set("had_by")
_I: Final = frozenset({"i", "we"})
_UPCOMING: Final = WordLists("telling").word_set("upcoming")


def read_request(router: Router, text: str, context: RouteContext, *, now: datetime) -> Selection:
    """What a text asks for, and the tools for it.

    A router that fails open forwards every tool, and nothing of what was asked. A model can choose
    among them; planning by rules has only the reading to go by.

    Raises:
        RequestUnread: the router failed open.
    """
    selection = router.route(text, context, now=now)
    if selection.band == "fail_open":
        raise RequestUnread(selection.reason)
    return selection


def find_target(
    selection: Selection,
    catalog: Catalog,
    observations: Iterable[Observation] = (),
    *,
    goal: str = "",
    now: datetime | None = None,
    walls: Sequence[Wall] = (),
) -> Tool | None:
    """The best forwarded tool that does what the clause asks; None when none does.

    A side effect that the leg already attempted stays its target, however the ranking moves. What
    the whole `goal` orders elsewhere, a wish in this request does not. Of a provider that is named
    it is that one's. For days that `now` has left
    behind it is the forwarded one that tells of the past.
    """
    for seen in observations:
        if seen.tool in catalog.tools and catalog.tool(seen.tool).is_side_effect:
            return catalog.tool(seen.tool)
    found = next(_ranked(selection, catalog, walls), None)
    lister = _listing_the_field(found, selection.frame, catalog)
    found = lister if lister is None or is_inside(lister, walls) else found
    found = found and _of_whoever_pays(found, selection.frame, catalog)
    found = found and _of_its_days(found, selection, catalog, now)
    found = found and _of_what_is_had(found, selection.frame, catalog)
    wished = found and wished_for(found, selection, catalog, goal)
    return wished if wished is None or is_inside(wished, walls) else found


def _listing_the_field(found: Tool | None, frame: IntentFrame, catalog: Catalog) -> Tool | None:
    """The list that has what a question asks for by name, where it names not what was found."""
    text = " ".join(frame.clauses)
    if found is not None and found.is_side_effect:
        return found
    if found is not None and is_named(found, content_stems(text), " ".join(listed_values(found))):
        return found
    lister = None if frame.side_effect_allowed else field_lister(catalog, text, frame.slots)
    return lister or found


def _of_whoever_pays(tool: Tool, frame: IntentFrame, catalog: Catalog) -> Tool:
    """The list of what we owe, or of what we are owed, where a question asks for the other."""
    text = " ".join(frame.clauses)
    side = None if tool.is_side_effect else who_owes(text)
    if side is None or payer(tool) == side:
        return tool
    able = lists_of_payer(filter(needs_nothing, catalog.tools.values()), text)
    return able[0] if able else tool


def _of_what_is_had(tool: Tool, frame: IntentFrame, catalog: Catalog) -> Tool:
    """The list of what was made out of offers, where somebody asks for what they have of them.

    "Do I have a table in Paris" looks for no table on a day that nobody has said.
    """
    text = question_in(" ".join(frame.clauses))
    words = tokens(text)
    is_asked = bool(words) and words[0] in QUESTION_WORDS | AUXILIARIES
    if tool.is_side_effect or not (is_asked and unsaid(tool, frame) and _is_had(text, tool)):
        return tool
    domain = [other for other in catalog.tools.values() if other.domain == tool.domain]
    offered = answer_fields(tool)
    makers = [t for t in domain if t.is_side_effect and offered & {*t.required_inputs}]
    reading = [t for t in domain if not t.is_side_effect and is_listing(t) and t is not tool]
    made = [t for t in reading if any(tells_what_is_made(t, maker) for maker in makers)]
    return made[0] if len(made) == 1 else tool


def _is_had(text: str, tool: Tool) -> bool:
    """Whether a question is of what somebody has already, as the thing that is known is.

    "Do I have a table", "my room", "did I order food"; of what only would be looked for otherwise
    also "the flight to Oslo" and "what time is dinner".
    """
    words = tokens(text)
    if " ".join(words[:2]) in _HAVING or not _MINE.isdisjoint(words):
        return True
    pairs = [*pairwise(words)]
    if any(verb in _HAD_BY and subject in _I for verb, subject in pairs):
        return True
    if degrees_in(text) or not RANKED.isdisjoint(words) or not _UPCOMING.isdisjoint(words):
        return False
    named = {*content_stems(f"{tool.name} {tool.summary} {tool.domain}")}
    known = [noun for before, noun in pairs if before == "the"]
    if kind_asked(text) in ("time", "moment"):
        known += [noun for before, noun in pairs if before in ("is", "was")]
    return any(not named.isdisjoint(meanings_of(noun)) for noun in known)


def _of_its_days(tool: Tool, selection: Selection, catalog: Catalog, now: datetime | None) -> Tool:
    """The tool that looks up the days that are said, of those that need nothing else to be told."""
    days = [str(slot.value) for slot in selection.frame.slots if slot.kind == "date" and slot.value]
    if now is None or not days or tool.is_side_effect or not _takes_days(tool):
        return tool
    gone_by = all(day < now.date().isoformat() for day in days)
    if gone_by is _is_of_the_past(tool):
        return tool
    others = [
        other
        for other in map(catalog.tool, selection.tools)
        if other.domain == tool.domain
        and not other.is_side_effect
        and {*other.required_inputs} <= tool.properties.keys()
        and _takes_days(other)
        and gone_by is _is_of_the_past(other)
    ]
    return others[0] if len(others) == 1 else tool


def _takes_days(tool: Tool) -> bool:
    return any(parameter.kind in DAYS for parameter in tool_parameters(tool))


def _is_of_the_past(tool: Tool) -> bool:
    return not _PAST.isdisjoint((*tokens(tool.name), *tokens(tool.summary)))


def _ranked(selection: Selection, catalog: Catalog, walls: Sequence[Wall]) -> Iterator[Tool]:
    """The forwarded tools that do what the clause asks, best first."""
    unasked = {*selection.prerequisites, *selection.padding}
    # "Tell finance that INV-7 is paid" pays nothing, whatever it speaks of.
    is_told = any(map(tells_something, selection.frame.clauses[:1]))
    tools = map(catalog.tool, selection.tools)
    ranked = [t for t in tools if t.name not in unasked or (is_told and tells(t))]
    if ranked and _is_one_of_many(ranked[0], selection.frame):
        # What would only have fed it answers by itself: "show me hotels" wants no single one.
        feeders = map(catalog.tool, selection.prerequisites)
        ranked += [tool for tool in feeders if is_listing(tool)]
    ranked.sort(key=lambda tool: _is_one_of_many(tool, selection.frame))
    verb, objects = selection.frame.verb, selection.frame.objects
    action = selection.frame.action
    if action in (Action.CREATE, Action.CANCEL) and (
        said := kind_said(" ".join(selection.frame.clauses))
    ):
        if not any(is_of_kind(tool, said) for tool in ranked):
            ranked = [*_of_that_kind(said, selection.frame, catalog, walls), *ranked]
        ranked.sort(key=lambda tool: not is_of_kind(tool, said))
    ranked.sort(key=lambda tool: not is_what_is_done(tool, verb, objects))
    if action not in SIDE_EFFECT_ACTIONS:
        ranked.sort(key=lambda tool: not is_asked_for_by(tool, verb))
    if action is Action.SEND:
        text = " ".join(selection.frame.clauses[:1])
        ranked.sort(key=lambda tool: not reaches(tool, text, selection.frame.slots))
    if is_told and any(map(tells, catalog.tools.values())):
        ranked = [tool for tool in ranked if tells(tool) or not tool.is_side_effect]
    fitting = [tool for tool in ranked if _fits(tool, selection.frame)]
    if fitting and not fitting[0].is_side_effect:
        lister = only_lister(catalog, selection.frame, fitting)
        is_free = lister is not None and is_inside(lister, walls)
        fitting = [lister, *fitting] if lister is not None and is_free else fitting
    yield from best_tellers(fitting, selection.frame)
    if action is Action.UNKNOWN and not selection.frame.side_effect_allowed:
        return
    if action in SIDE_EFFECT_ACTIONS and action not in (Action.CANCEL, Action.SEND):
        # "Check that nothing overlaps" commands a tool that only reads: better than nothing at all,
        # and never the other way round.
        yield from (tool for tool in ranked if tool.effect is Effect.READ)


def _of_that_kind(
    said: tuple[str, ...], frame: IntentFrame, catalog: Catalog, walls: Sequence[Wall]
) -> list[Tool]:
    """The one tool that does what is asked to things of the kind that is said, if there is one."""
    found = [
        tool
        for tool in catalog.tools.values()
        if is_of_kind(tool, said)
        and named(tool)[1] is frame.action
        and is_inside(tool, walls)
        and _fits(tool, frame)
    ]
    return found if len(found) == 1 else []


def _is_one_of_many(tool: Tool, frame: IntentFrame) -> bool:
    """Whether the tool shows one thing by an id, and several were asked for by none."""
    if tool.is_side_effect or is_listing(tool) or any(s.kind == "identifier" for s in frame.slots):
        return False
    asked = {noun.lower() for noun in frame.objects}
    many = {singular(noun) for noun in asked if singular(noun) != noun}
    keyed = any(
        p.required and (p.kind is Kind.IDENTIFIER or f"{{{p.name}}}" in tool.path)
        for p in tool_parameters(tool)
    )
    if keyed and comparison_in(" ".join(frame.clauses)) is not None:
        return True  # two of them
    return keyed and bool(many & {singular(word) for word in tokens(tool.name)})


def _fits(tool: Tool, frame: IntentFrame) -> bool:
    match action := frame.action:
        case Action.READ | Action.SEARCH | Action.UNKNOWN:
            # "Open a ticket" changes something where a tool that is named so does; "print 20
            # flyers" where its document says that this is how it is asked for.
            opens = frame.verb in WARY_VERBS and named(tool)[0] == frame.verb
            return tool.effect is Effect.READ or opens or is_asked_for_by(tool, frame.verb)
        case Action.CANCEL:
            return tool.effect is Effect.CANCEL or commands(tool, Action.CANCEL)
        case _:
            # To rename is neither to move nor to delete: where no tool does it, it is said.
            makes = tool.effect in (Effect.OBLIGATION, Effect.WRITE)
            if makes and action is Action.UPDATE:
                return changes_so(tool, frame.verb)
            ends = commands(tool, Action.CANCEL)
            if frame.verb == _ADD and named(tool)[1] is Action.UPDATE:
                return False  # what is added to a list would take the place of what is in it
            takes_back = tool.effect is Effect.CANCEL and commands(tool, action)
            return takes_back or (makes and not ends)
