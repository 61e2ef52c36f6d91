"""The planner that needs no model: from clauses to tools to inputs to what produces them."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import RequestUnread
from orchestrator.language import lexicon
from orchestrator.language.periods import period_in
from orchestrator.language.words import content_stems, name_words, stem, tokens
from orchestrator.planning.models import (
    FINISH,
    AgentProfile,
    AskUser,
    CallTool,
    DiscoverTools,
    Fact,
    Finish,
    GiveUp,
    GoalBrief,
    MissionPlan,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.planning.named_documents import documents_named
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.amounts import amount_doubts
from orchestrator.planning.rules.answers import answer_fields
from orchestrator.planning.rules.argument_draft import ArgumentDraft, Lack
from orchestrator.planning.rules.asked_inputs import asked_schema, to_ask
from orchestrator.planning.rules.field_listers import field_lister, needs_nothing
from orchestrator.planning.rules.how_many import how_many, needs_the_very_one
from orchestrator.planning.rules.next_call import barred_producer, next_call, wider_call
from orchestrator.planning.rules.other_lists import borne_by, is_looking, look_on, tell_of
from orchestrator.planning.rules.pages import next_page, pages_of, rest_of
from orchestrator.planning.rules.parameters import CLOCKS, DAYS, Kind, Parameter, tool_parameters
from orchestrator.planning.rules.sentences import report
from orchestrator.planning.rules.situation import FactSource, Situation, read_situation
from orchestrator.planning.rules.split import split
from orchestrator.planning.rules.target import find_target, read_request
from orchestrator.planning.rules.tellers import asked_words, unknown_words
from orchestrator.planning.rules.telling import needs_all
from orchestrator.planning.rules.tool_words import is_named, speaks_of
from orchestrator.planning.rules.untold import question_about
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.planning.rules.widening import telling_what_was_left_out
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.saga.judged import is_empty

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_ATTEMPTS: Final = 5
"""Calls of the target that may be refused before the leg gives up."""
_MAX_PAGES: Final = 10
"""Of one search; what goes on longer is not done to all of it."""


class ChainingPlanner:
    """Plans by chaining the outputs of tools to the inputs of others, matched by schema.

    Deterministic, without a network, and without memory: every step is decided from its context,
    its selection and the catalog.
    """

    def __init__(self, routers: Callable[[Catalog], Router]) -> None:
        """Take what gives the router of a catalog; it is asked at every split, so let it cache."""
        self._routers = routers

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """One leg per request in the goal; see `split`."""
        return split(brief, catalog, agents, self._router(catalog))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """The next step of one leg.

        Raises:
            RequestUnread: the router failed, and fails again.
        """
        if selection.band == "fail_open":
            router = self._router(catalog)
            known = route_context(context)
            selection = read_request(router, context.leg_goal, known, now=context.now)
        if (barred := self._barred(context, selection, catalog)) is not None:
            return GiveUp(reason=barred)
        return telling_what_was_left_out(decide(context, selection, catalog), context)

    def _barred(self, context: StepContext, selection: Selection, catalog: Catalog) -> str | None:
        """Why a leg is not begun whose tool is outside its agent's wall; None for all others.

        Of the tools inside one always comes first, which may have nothing to do with the request:
        read without the wall, it is for a tool outside, and what is inside does not speak of it.
        """
        if context.agent.wall.is_open or context.observations or _deciding(context, catalog):
            return None
        if documents_named(context.mission_goal, catalog.tools.values()):
            return None  # it is the goal that wants nothing from elsewhere
        text, now = context.leg_goal, context.now
        free = route_context(context).model_copy(update={"walls": (), "domains": ()})
        wanted = find_target(read_request(self._router(catalog), text, free, now=now), catalog)
        if wanted is None or is_inside(wanted, (context.agent.wall,)):
            return None
        inside = find_target(selection, catalog, walls=(context.agent.wall,))
        if inside is not None and speaks_of(read_utterance(text, now=now), inside):
            return None
        return context.agent.wall.refusal(wanted.name)

    def _router(self, catalog: Catalog) -> Router:
        try:
            return self._routers(catalog).without_deadline()
        except Exception as error:  # whatever it is, a request cannot be read without a router
            raise RequestUnread(f"{type(error).__name__} while indexing the catalog") from error


def decide(context: StepContext, selection: Selection, catalog: Catalog) -> StepDecision:
    """The next step of one leg, from nothing but the arguments."""
    if (stopped := _stopped(context.observations)) is not None:
        return stopped
    situation = read_situation(context, selection.tools, catalog)
    target = _target(context, selection, situation)
    if (told := _told_elsewhere(target, situation)) is not None:
        return told
    if target is None and situation.searched_for(context.leg_goal):
        return GiveUp(reason=f"no tool that was found does {context.leg_goal!r}")
    if target is None:
        return DiscoverTools(query=context.leg_goal)
    if (ended := _ended(target, situation)) is not None:
        return ended
    if (question := _unread(target, situation)) is not None:
        return question
    if (page := _next_page(target, situation)) is not None:
        return page
    step = next_call(target, situation)
    if isinstance(step, CallTool) and not _is_shown(step, situation):
        return _discovered(step, situation)
    if not isinstance(step, Lack):
        return step
    if step.listed_by:
        finder = situation.catalog.tool(step.listed_by)
        return _finish(finder, _done(finder, situation), situation)
    if step.is_done:
        return _finish(target, _done(target, situation), situation)
    if step.reason:
        return _nothing_found(target, situation) or GiveUp(reason=step.reason)
    return _ask(step, target, situation)


def _is_shown(step: CallTool, situation: Situation) -> bool:
    context = situation.context
    shown = {*situation.shown, *context.discovered, *context.forwarded}
    return step.tool in shown or situation.catalog.tool(step.tool).load_policy == "core"


def _discovered(step: CallTool, situation: Situation) -> DiscoverTools | GiveUp:
    """The search that lets a tool be called of which all contracts told, and no ranking."""
    if situation.searched_for(step.tool):
        return GiveUp(reason=f"{step.tool} is not among the tools that this part may call")
    return DiscoverTools(query=step.tool)


def _told_elsewhere(target: Tool | None, situation: Situation) -> StepDecision | None:
    """How a question goes on in other lists, which names what its tool does not have; else None.

    Its tool was called in vain, or lacks what nobody has said and does not speak of what is asked.
    """
    if target is None:
        return look_on(situation)
    if target.is_side_effect or situation.context.orders or situation.context.decides:
        return None
    done = _done(target, situation)
    if not done:
        if needs_nothing(target) or not _unknown_to(target, situation):
            return None
        step = next_call(target, situation)
        asks = isinstance(step, Lack) and not step.reason
        return look_on(situation, target) if asks or is_looking(situation, target) else None
    if _another_page(target, situation) is not None:
        return None
    found = borne_by(target, done[0], situation)
    return None if found.is_enough else look_on(situation, target)


def _unread(target: Tool, situation: Situation) -> AskUser | None:
    """A question about what the leg's goal says and its words do not tell."""
    keys = {n for p in tool_parameters(target) if p.is_produced for n in p.names}
    domain = (tool for tool in situation.usable_tools if tool.domain == target.domain)
    feeders = tuple(
        tool for tool in domain if not tool.is_side_effect and keys & answer_fields(tool)
    )
    tools = (target, *feeders)
    context = situation.context
    unread = situation.utterance.unread
    period = period_in(context.leg_goal, now=context.now)
    picked = [p for p in tool_parameters(target) if p.kind in DAYS]
    if not target.is_side_effect:
        picked = [p for p in picked if p.required]
    if period is not None and not picked:
        # Of what is there already, "in March" tells which: no day has to be picked.
        unread = tuple(
            slot for slot in unread if slot.kind != "date" or slot.text not in period.said
        )
    if _hour_is_chosen(target, feeders):
        unread = tuple(slot for slot in unread if slot.kind != "time" or slot.readings)
    return question_about(context.leg_goal, unread, context.mission_goal, tools, context.inputs)


def _hour_is_chosen(target: Tool, feeders: Sequence[Tool]) -> bool:
    """Whether a thing of the hours that are wanted is taken of what is found, which tells its own.

    "A table in the evening" is one of those of the evening; a provider's default hour is not asked.
    """
    clocks = [p for t in (target, *feeders) for p in tool_parameters(t) if p.kind in CLOCKS]
    told = [{*name_words(name)} for tool in feeders for name in answer_fields(tool)]
    kept = lexicon.BOOKKEEPING - {"at"}
    tells = any(words & lexicon.TIME and not words & kept for words in told)
    is_free = not any(p.name in target.properties or "default" in p.schema for p in clocks)
    return tells and is_free and not any(p.required for p in clocks)


def _target(context: StepContext, selection: Selection, situation: Situation) -> Tool | None:
    """The tool that reaches the leg's goal; a window that is wide since nothing fits holds none.

    Unless the goal speaks of the tool, or the leg has begun: what is under way is not left.
    """
    catalog = situation.catalog
    if (deciding := _deciding(context, catalog)) is not None:
        return deciding
    goal = context.mission_goal
    target = find_target(
        selection,
        catalog,
        context.observations,
        goal=goal,
        now=context.now,
        walls=(context.agent.wall,),
    )
    if target is None or selection.fits:
        return target
    if context.observations and not is_looking(situation, target):
        return target
    said = read_utterance(context.leg_goal, now=context.now)
    if speaks_of(said, target) or field_lister(catalog, said.text, said.slots) is target:
        return target
    return None


def _deciding(context: StepContext, catalog: Catalog) -> Tool | None:
    """The tool by whose answer a leg decides that does nothing but look."""
    names = (name for one in context.decides for name in one.tools if context.only_looks)
    return next((catalog.tools[name] for name in names if name in catalog.tools), None)


def _stopped(observations: Sequence[Observation]) -> GiveUp | None:
    """The end that no further step may go around: a policy, or a side effect left unclear.

    What a person refused may be followed by something else.
    """
    for seen in observations:
        if seen.outcome == "refused" and seen.tool != FINISH and not seen.refused_by:
            return GiveUp(reason=f"{seen.tool} was refused: {seen.error or 'no reason given'}")
        if seen.side_effect and seen.outcome == "unknown":
            return GiveUp(
                reason=f"it is unclear whether {seen.tool} took effect: {seen.error or 'no answer'}"
            )
    return None


def _ended(target: Tool, situation: Situation) -> Finish | GiveUp | CallTool | None:
    """How the leg ends once its target was called: with its answer, or refused too often."""
    tried, done = list(situation.tried(target)), _done(target, situation)
    if done:
        return _ended_after(done, tried[0], target, situation)
    if tried and (hopeless := _hopeless(target, tried[0])) is not None:
        return GiveUp(reason=hopeless)
    return _failed_too_often(target, situation)


def _failed_too_often(target: Tool, situation: Situation) -> GiveUp | None:
    """The end of a leg whose target was called in vain so often that nobody would go on."""
    failed = [seen for seen in situation.tried(target) if seen.outcome != "succeeded"]
    if len(failed) < _MAX_ATTEMPTS:
        return None
    return GiveUp(reason=f"{target.name} failed {len(failed)} times; the last: {failed[0].error}")


def _done(target: Tool, situation: Situation) -> list[Observation]:
    """The calls of the target that succeeded, the newest first."""
    return [seen for seen in situation.tried(target) if seen.outcome == "succeeded"]


def _ended_after(
    done: list[Observation], last: Observation, target: Tool, situation: Situation
) -> Finish | GiveUp | CallTool | None:
    """How the leg ends when its target has done something; None while it is to do more.

    What was asked for of several things is not reached when it fails for one of them.
    """
    asked = how_many(target, situation)
    failed = last.outcome != "succeeded" and not last.sent_back
    if asked.is_several and failed and needs_the_very_one(target):
        number = "all" if asked.number is None else asked.number
        return GiveUp(reason=f"done for {len(done)} of {number}: {last.error or last.outcome}")
    if asked.number is None or len(done) < asked.number:
        return _failed_too_often(target, situation)
    again = None
    if is_empty(done[0].body) and not target.is_side_effect and target.name in situation.shown:
        again = wider_call(target, done[0].arguments, done[0], situation)
    again = again or _another_page(target, situation)
    return again or _finish(target, done, situation)


def _another_page(target: Tool, situation: Situation) -> CallTool | None:
    """The next page of what a request that only reads has to know all of."""
    if target.is_side_effect or target.name not in situation.shown or situation.context.decides:
        return None
    page = rest_of(target, situation.context.observations, _MAX_PAGES)
    is_needed = page is not None and needs_all(target, page.arguments, situation.utterance)
    return page if is_needed else None


def _next_page(target: Tool, situation: Situation) -> CallTool | GiveUp | None:
    """The rest of what a search tells page by page, before it is sure which things are meant."""
    asked, seen = how_many(target, situation), situation.context.observations
    last = next(reversed(seen), None)
    if not needs_the_very_one(target) or last is None or last.side_effect:
        return None
    finder = situation.catalog.tools.get(last.tool)
    if finder is None or finder.is_side_effect or last.outcome != "succeeded":
        return None
    pages = pages_of(finder, seen)
    page = next_page(finder, pages)
    if isinstance(page, CallTool) and len(pages) < _MAX_PAGES:
        return page
    if not page or not asked.is_several:
        return None  # of one thing it is asked, unless it is told apart
    why = page if isinstance(page, str) else f"{finder.title!r} has more than {_MAX_PAGES} pages"
    return GiveUp(reason=f"{why}; nothing was done: say which are meant, or a narrower time")


def _nothing_found(target: Tool, situation: Situation) -> Finish | None:
    """The answer to a request that only reads, when what it reads about was not found."""
    last = next(reversed(situation.context.observations), None)
    if target.is_side_effect or last is None or last.outcome != "succeeded":
        return None
    found = situation.catalog.tools.get(last.tool)
    if found is None or found.is_side_effect or not is_empty(last.body):
        return None
    return _finish(found, [last], situation)


def _hopeless(target: Tool, last: Observation) -> str | None:
    """Why no other proposal could go better than the last; None when one could.

    Who wants a thing kept does not want another one undone instead, and another offer is made for
    the same person.
    """
    if last.refused_by and not last.sent_back and target.effect is Effect.CANCEL:
        return f"{target.name} was refused: {last.error}"
    if last.outcome != "rejected" or not last.error:
        return None
    words = set(_NAME.findall(last.error))
    personal = [name for name in target.pii_fields if name in words]
    if not personal:
        return None
    return (
        f"{last.error}; no other offer would change that: store another value "
        f"(orchestrator pii set {personal[0]}) and start again"
    )


def _finish(target: Tool, done: Sequence[Observation], situation: Situation) -> Finish:
    """The end of a leg: what was found, as a person tells it, or what was done call by call."""
    if not target.is_side_effect:
        told = tell_of(target, done[0], situation)
        return Finish(summary=told.sentence, table=told.table)
    facts = (
        Fact(source="", tool=target.name, arguments=o.arguments, body=o.body, price=o.price)
        for o in reversed(done)
    )
    said = (f"{report(FactSource(fact, target))}." for fact in facts)
    return Finish(summary=" ".join(said))


def _ask(lack: Lack, target: Tool, situation: Situation) -> AskUser | GiveUp:
    """A question for what is missing.

    What was answered and does not fit is not asked again, and references are ours to fill.
    """
    parameters = to_ask(lack, target, situation)
    ours = [p.name for p in parameters if p.name in situation.own_references]
    if ours:
        return GiveUp(
            reason=f"{', '.join(ours)} is the caller's own reference, which no person has"
        )
    refused = next(situation.refused(target), None)
    if refused is not None and all(p.is_id and p.name in refused.arguments for p in parameters):
        return GiveUp(reason=f"{target.name} failed: {refused.error}")  # it was said, and is none
    answered = [p for p in parameters if p.name in situation.context.inputs]
    if answered:
        names = ", ".join(p.name for p in answered)
        return GiveUp(reason=f"the value given for {names} is not one that the tool takes")
    wanted = ", ".join(map(_described, parameters))
    whole = ArgumentDraft(tool_parameters(target))
    doubts = [*amount_doubts(parameters, situation.utterance, whole)]
    wanted += "".join(f"; {doubt}" for doubt in doubts)
    if (barred := barred_producer(parameters, target, situation)) is not None:
        agent = situation.context.agent.name
        wanted += f"; {barred.name} would look it up, which the agent {agent} may not use"
    first = f"{lack.note[:1].upper()}{lack.note[1:]}. " if lack.note else ""
    first += _unknown_to(target, situation)
    fields = {p.name: asked_schema(p, target, situation) for p in parameters}
    goal = situation.context.leg_goal
    if all("oneOf" in schema for schema in fields.values()) and not doubts and barred is None:
        return AskUser(
            question=f"{first}Which one is meant in {goal!r}?",
            why=f"{target.title!r} is done with one of them, and nothing tells with which",
            fields=fields,
        )
    more = "one more thing" if len(parameters) == 1 else "more"
    return AskUser(
        question=f"{first}For {goal!r} {more} is needed: {wanted}.",
        why=f"{target.title!r} takes it, and neither the goal nor what was looked up says it",
        fields=fields,
    )


def _unknown_to(target: Tool, situation: Situation) -> str:
    """A sentence about a question that its tool does not speak of, or is not named by."""
    # Nobody should type what is missing in vain, for something that is no answer.
    said = situation.utterance
    unknown = unknown_words(asked_words(said.text, (*said.slots, *said.unread)), [target])
    if target.is_side_effect:
        return ""
    fields = " ".join(answer_fields(target))
    if not unknown and not is_named(target, content_stems(said.without_values), fields):
        return f"Nothing here is sure to tell that; the nearest is {target.title!r}. "
    tools = situation.catalog.tools.values()
    personal = dict.fromkeys(n for t in tools if t.domain == target.domain for n in t.pii_fields)
    kept = [name for name in personal if {*map(stem, tokens(name))} <= {*map(stem, unknown)}]
    stored = {word for name in kept for word in map(stem, tokens(name))}
    left = [word for word in unknown if stem(word) not in stored]
    told = [f"{name} is a personal value: store it (orchestrator pii set {name})." for name in kept]
    if left:
        named = " and ".join(map(repr, left))
        told.insert(0, f"Nothing here speaks of {named}; the nearest is {target.title!r}.")
    return " ".join([*told, ""])


def _described(parameter: Parameter) -> str:
    words = " ".join(parameter.words)
    described = str(parameter.schema.get("description", "")).split(". ")[0].strip(" .")
    choices = parameter.schema.get("enum")
    if parameter.kind is Kind.CHOICE and isinstance(choices, list):
        return f"{words} (one of {', '.join(map(str, choices))})"
    return f"{words} ({described})" if described else words
