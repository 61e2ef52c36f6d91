"""The account of a plan: what its goal says, which leg takes it up, and what nobody does."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import CatalogVerbs, ClauseReading, read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.coordination import coordinated
from orchestrator.language.corrections import Replaced, corrected
from orchestrator.language.ellipsis import written_in
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, Slot, tells_apart
from orchestrator.language.slots import find_slots
from orchestrator.language.statements import orders_of_a_thing
from orchestrator.language.subclauses import read_goal
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import STOP_WORDS, content_stems, stem, tokens
from orchestrator.planning.accounting.aims import doubt_about_aim
from orchestrator.planning.accounting.asides import Aside, decided_by, waits
from orchestrator.planning.accounting.clause_account import ClauseAccount, ReadApart
from orchestrator.planning.accounting.deeds_elsewhere import (
    doubt_about_command,
    doubt_about_return,
    doubts_about_deeds_elsewhere,
)
from orchestrator.planning.accounting.deeds_unsaid import (
    doubt_about_deed,
    doubt_about_no_verb,
    doubt_about_nothing_named,
    doubt_about_wish,
)
from orchestrator.planning.accounting.drafts import drafted
from orchestrator.planning.accounting.grounds import Grounds, held_by, unexplained
from orchestrator.planning.accounting.kinds import (
    doubt_about_kinds,
    doubt_about_nothing_ordered,
    doubt_about_provider,
)
from orchestrator.planning.accounting.left_over import doubt_about_correction
from orchestrator.planning.accounting.paths import Path, PathFinder
from orchestrator.planning.accounting.said_or_ordered import doubts_about_orders_said
from orchestrator.planning.accounting.stating import aside, explains_an_end
from orchestrator.planning.accounting.subjects import doubt_about_kind, doubt_about_subject
from orchestrator.planning.accounting.things_said import things_said
from orchestrator.planning.accounting.uses import Taken
from orchestrator.planning.models import Doubt, LegPlan, Mention, MissionPlan
from orchestrator.planning.named_documents import documents_named, without_documents
from orchestrator.planning.order_deeds import named
from orchestrator.planning.order_words import is_question, takes_up
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext
from orchestrator.saga.served import Order


def with_account(
    plan: MissionPlan,
    goal: str,
    catalog: Catalog,
    router: Router | None,
    *,
    now: datetime,
    given: JsonObject | None = None,
) -> MissionPlan:
    """The plan with every thing that the goal says, and what of it could change a consequence.

    A goal that orders nothing leaves nothing in doubt: what of it is not read is left out.

    Args:
        plan: with its orders and conditions.
        goal: the mission's, in the words of who started it.
        catalog: the mission's.
        router: of that catalog; None: it has none, and any tool may be meant.
        now: the requester's time.
        given: values that came with the goal, by the names of inputs.
    """
    meant = corrected(goal)
    account = _Account(plan, meant.text, catalog, router, now, given or {})
    mentions = [*map(_replaced, meant.replaced)]
    doubts = [*map(doubt_about_correction, meant.unsure)]
    told_apart: list[ClauseAccount | Aside] = [*account.parts(), *account.asides()]
    doubts += [*account.doubts_about_kinds(), *account.doubts_about_orders_said()]
    for part in told_apart:
        mentions += part.mentions()
        doubts += part.doubts()
    told = {doubt.about: doubt for doubt in reversed(doubts if plan.orders else [])}
    whole = [doubt.about.casefold() for doubt in plan.doubts]
    told = {k: v for k, v in told.items() if not any(k.casefold() in about for about in whole)}
    told |= {doubt.about: doubt for doubt in reversed(plan.doubts)}
    told |= {doubt.about: doubt for doubt in account.doubts_about_deeds()}
    told |= {doubt.about: doubt for doubt in account.doubts_about_deeds_elsewhere()}
    if not told or plan.orders:
        told |= {doubt.about: doubt for doubt in account.doubts_about_subjects()}
    return plan.model_copy(
        update={
            "mentions": tuple(dict.fromkeys((*mentions, *_besides(plan, mentions)))),
            "doubts": tuple(reversed(told.values())),
        }
    )


class _Account:
    """Reads one goal clause by clause."""

    def __init__(
        self,
        plan: MissionPlan,
        goal: str,
        catalog: Catalog,
        router: Router | None,
        now: datetime,
        given: JsonObject,
    ) -> None:
        self._plan = plan
        self._text = read_goal(goal)
        self._goal = self._text.requests
        self._whole_goal = goal
        self._catalog = catalog
        self._given = given
        self._now = now
        self._router = router
        self._finder = PathFinder(catalog, router, goal, now=now, given=given)
        self._paths = {leg.leg_id: self._finder.of_leg(leg) for leg in plan.legs}

    def parts(self) -> Iterator[ClauseAccount]:
        """Its clauses, each with the legs that take it up."""
        orders = {order.clause: order for order in self._plan.orders}
        for clause in self._clauses():
            order = orders.get(clause.text)
            legs = self._legs_of(clause)
            path = _joined(self._paths[leg.leg_id] for leg in legs)
            if order is not None and any(len(leg.orders) > 1 for leg in legs):
                path = self._finder.of_order(order, path)
            said = things_said(clause.text, now=self._now, before=self._said_before(clause.text))
            yield ClauseAccount(
                clause=clause,
                order=order,
                legs=legs,
                taken=Taken.of(clause, path, order, said, is_one_leg=len(legs) == 1),
                others=self._whole,
                said=said,
                plan=self._plan,
                is_left_alone=clause.is_negated and self._is_left_alone(clause),
                apart=tuple(self._apart(clause, order, legs)),
            )

    def _apart(
        self, clause: ClauseReading, order: Order | None, legs: Sequence[LegPlan]
    ) -> Iterator[ReadApart]:
        """The legs of a clause that joins several things, each with one of them."""
        joined = coordinated(clause.text) if len(legs) > 1 else None
        if joined is None or any(leg.goal not in joined.clauses for leg in legs):
            return
        for leg in legs:
            said = things_said(leg.goal, now=self._now, before=self._said_before(clause.text))
            path, own = self._paths[leg.leg_id], read_clause(leg.goal)
            yield ReadApart(leg.leg_id, Taken.of(own, path, order, said, is_one_leg=True), said)

    def doubts_about_kinds(self) -> Iterator[Doubt]:
        """What orders leave open of which kind of things they are."""
        for order in self._plan.orders:
            clause = read_clause(order.clause)
            legs = self._legs_of(clause)
            paths = [self._paths[leg.leg_id] for leg in legs]
            targets = [t for path in paths for t in path.targets if t.name in order.tools]
            said = things_said(order.clause, now=self._now)
            doubt = doubt_about_kinds(clause, said, targets, self._catalog)
            doubt = doubt or doubt_about_aim(clause, targets, self._catalog)
            doubt = doubt or doubt_about_provider(clause, self._whole_goal, targets, self._catalog)
            if all(leg.goal == order.clause and self._follows_nothing(leg) for leg in legs):
                able = [*map(self._catalog.tool, order.tools)] if not self._given else []
                doubt = doubt or doubt_about_nothing_ordered(clause, said, able)
            if doubt is not None:
                yield doubt

    def _follows_nothing(self, leg: LegPlan) -> bool:
        """Whether no leg before it has to do with a thing: what is told of is not what was made."""
        before = [one for one in self._plan.legs if one.leg_id in leg.depends_on]
        return all(self._only_tells(one) and self._follows_nothing(one) for one in before)

    def _only_tells(self, leg: LegPlan) -> bool:
        targets = self._paths[leg.leg_id].targets
        return bool(targets) and all(named(tool)[1] is Action.SEND for tool in targets)

    def doubts_about_orders_said(self) -> Iterator[Doubt]:
        """What orders may only be a part of a message."""
        summaries = (tokens(tool.summary)[:1] for tool in self._catalog.tools.values())
        verbs = CatalogVerbs({verb: Action.UNKNOWN for first in summaries for verb in first})
        written = (read_clause(c, verbs=verbs) for c in split_clauses(self._goal, verbs=verbs))
        return doubts_about_orders_said(self._goal, [*written])

    def doubts_about_deeds(self) -> Iterator[Doubt]:
        """What does not say whether it is to be done, where nothing else does it."""
        ordered = {name for order in self._plan.orders for name in order.tools}
        done = {self._catalog.tool(name).domain for name in ordered}
        for clause in self._clauses() if self._router is not None else ():
            legs = [leg for leg in self._legs_of(clause) if not (leg.only_looks or leg.orders)]
            looking = [tool for leg in legs for tool in self._paths[leg.leg_id].targets]
            looking = [t for t in looking if not t.is_side_effect]
            if any(tool.domain in done for tool in looking):
                continue  # "a table in Rome at eight, book the cheapest" is done
            said = things_said(clause.text, now=self._now)
            yield from filter(None, [doubt_about_wish(clause, looking)])
            if ordered and looking and not self._feeds(legs):
                yield from filter(None, [doubt_about_no_verb(clause)])
            doubt = self._router and doubt_about_deed(
                clause, said, looking, self._catalog, self._router.without_deadline()
            )
            doubt = doubt or doubt_about_nothing_named(clause, said, looking)
            if doubt:
                yield doubt

    def _feeds(self, legs: Sequence[LegPlan]) -> bool:
        """Whether what is looked up is for something that is ordered."""
        own = {leg.leg_id for leg in legs}
        return any(own & {*leg.depends_on} and leg.orders for leg in self._plan.legs)

    def doubts_about_subjects(self) -> Iterator[Doubt]:
        """What is asked, and no tool of the leg for it tells; a model may know it itself."""
        for clause in (one for one in self._clauses() if not one.is_negated):
            legs = [leg for leg in self._legs_of(clause) if not leg.only_looks]
            if not all(leg.is_planned_by_rules for leg in legs):
                continue
            if self._plan.orders and not is_question(clause):
                continue  # what is looked up may be for what is ordered
            paths = [self._paths[leg.leg_id] for leg in legs]
            looking = [tool for path in paths for tool in path.targets]
            if any(tool.is_side_effect for tool in looking):
                continue
            feeding = [tool for path in paths for tool in path.feeders]
            slots = find_slots(clause.text, now=self._now)
            doubt = doubt_about_subject(clause, slots, looking, feeding, self._catalog)
            if doubt := doubt or doubt_about_kind(clause, slots, looking, self._catalog):
                yield doubt

    def doubts_about_deeds_elsewhere(self) -> Iterator[Doubt]:
        """What is to be done, and what it is the goal leaves to others to say."""
        yield from doubts_about_deeds_elsewhere(self._goal)
        ordered = {order.clause: order for order in self._plan.orders}
        for clause in self._clauses():
            legs = [leg for leg in self._legs_of(clause) if not leg.only_looks]
            targets = [tool for leg in legs for tool in self._paths[leg.leg_id].targets]
            if clause.text not in ordered:
                yield from filter(None, [doubt_about_command(clause, targets)])
            elif any(t.name in ordered[clause.text].tools for t in targets):
                able = map(self._catalog.tool, ordered[clause.text].tools)
                does = sorted(able, key=lambda tool: tool not in targets)
                yield from filter(None, [doubt_about_return(clause, does)])

    def asides(self) -> Iterator[Aside]:
        """What the goal says beside its requests: remarks, and when something is to be done."""
        for remark in self._text.remarks:
            yield self._remark(remark.text)
        governing = {one.subclause.text: one.subclause for one in self._text.governed}
        for text, subclause in governing.items():
            used = decided_by(text, self._plan)
            if not used and subclause.kind == "awaited":
                used = waits(self._plan)
            yield Aside(text, "condition", used)

    def _remark(self, text: str) -> Aside:
        """A remark; what of it the tools of the plan could use, and are not told, is in doubt."""
        if any(read_clause(c).asks_side_effect for c in split_clauses(text.replace(": ", ". "))):
            return Aside(text, "remark", is_order=True)
        if orders_of_a_thing(text):
            return Aside(text, "remark")
        if explains_an_end(text, self._plan.orders):
            return Aside(text, "remark", "why it is ended")
        clause = read_clause(text)
        left = [
            said
            for said in things_said(text, now=self._now)
            if not held_by(said, self._drafted)
            and not (said.kind == "date" and self._counts_from(text))
            and not aside(said, clause, self._whole, is_alone=True)
        ]
        return Aside(text, "remark", "" if left else "a remark, which asks for nothing")

    def _said_before(self, text: str) -> str:
        """What the goal says before a part of it."""
        return self._whole_goal[: written_in(text, self._whole_goal)[0]]

    def _counts_from(self, remark: str) -> bool:
        """Whether some day that a clause says is counted from what a remark says."""
        without = self._whole_goal.replace(remark, "")
        return any(
            find_slots(clause.text, now=self._now, before=self._said_before(clause.text))
            != find_slots(clause.text, now=self._now, before=without)
            for clause in self._clauses()
        )

    @cached_property
    def _drafted(self) -> Grounds:
        return drafted(self._plan.legs, self._paths, self._whole_goal, self._catalog, now=self._now)

    @cached_property
    def _whole(self) -> Path:
        return _joined(self._paths.values())

    def _clauses(self) -> Sequence[ClauseReading]:
        """As the orders were read: by the router, or by words alone."""
        request = None
        if self._router is not None:
            context = RouteContext(goal=self._goal)
            explain = self._router.without_deadline().explain
            request = explain(self._goal, context, now=self._now).request
        written = [read_clause(clause) for clause in split_clauses(self._goal)]
        if request is None:
            return written
        # What is forbidden asks for no tool, and the router leaves it out.
        asked = [clause.text for clause in request.clauses]
        forbidden = [c for c in written if c.is_negated and not any(a in c.text for a in asked)]
        return [*request.clauses, *forbidden]

    def _legs_of(self, clause: ClauseReading) -> tuple[LegPlan, ...]:
        """The legs whose goals hold the clause, word for word or by most of its words.

        They do not have the documents that it names.
        """
        legs = self._plan.legs
        if named := documents_named(clause.text, self._catalog.tools.values()):
            bare = without_documents(clause.text, named)
            if found := tuple(leg for leg in legs if leg.goal == bare):
                return found
        exact = tuple(leg for leg in legs if clause.text in leg.goal or leg.goal in clause.text)
        held = exact or tuple(leg for leg in legs if _quotes(leg, clause))
        joined = coordinated(clause.text)
        apart = tuple(leg for leg in legs if joined and leg.goal in joined.clauses)
        # Two things that stand in one clause, the first of which begins it as well.
        is_apart = joined is not None and not joined.is_ellipsis and len(apart) > len(held)
        held = apart if is_apart or not held else held
        held = held or tuple(leg for leg in legs if _holds(leg.goal, clause))
        return held or tuple(leg for leg in legs if _is_said_anew(leg, clause))

    def _is_left_alone(self, clause: ClauseReading) -> bool:
        """Whether what a clause forbids is what some tool does, and no order of the plan."""
        # "I don't want breakfast" forbids nothing that could be left undone.
        if self._router is None or not clause.verb or clause.verb in STOP_WORDS:
            return False
        ranked = self._router.without_deadline().rank(clause.text, now=self._now)
        if clause.action in SIDE_EFFECT_ACTIONS:
            # What is forbidden is done by no tool that only reads, however near its words are.
            ranked = [name for name in ranked if self._catalog.tool(name).is_side_effect]
        best = ranked[:1]
        ordered = {name for order in self._plan.orders for name in order.tools}
        if ordered & {*best}:
            return self._is_of_another(clause, best)
        own = self._finder.of_tools(best).grounds
        things = (s for s in things_said(" ".join(clause.objects), now=self._now) if s.stems)
        return not any(unexplained(said, own) for said in things)

    def _is_of_another(self, clause: ClauseReading, tools: Sequence[str]) -> bool:
        """Whether each order for the same names another one: "don't pay Acme, pay Globex"."""
        own = [slot for slot in find_slots(clause.text, now=self._now) if tells_apart(slot)]
        alike = [order.clause for order in self._plan.orders if {*order.tools} & {*tools}]
        return bool(own) and all(
            any(_is_another(slot, other) for other in find_slots(text, now=self._now))
            for slot in own
            for text in alike
        )


def _is_another(one: Slot, other: Slot) -> bool:
    """Whether a value is of the same kind, and not the same."""
    same_kind = one.kind == other.kind or {one.kind, other.kind} <= {"name", "place"}
    return same_kind and one.text.casefold() != other.text.casefold()


def _quotes(leg: LegPlan, clause: ClauseReading) -> bool:
    """Whether a leg is said to be for words of the clause, or for a text that holds it."""
    text = clause.text.casefold()
    return any(said.casefold() in text or text in said.casefold() for said in leg.serves)


def _is_said_anew(leg: LegPlan, clause: ClauseReading) -> bool:
    """Whether a leg says what a clause only points at: "pay it", if the invoice is open."""
    same = stem(read_clause(leg.goal).verb) == stem(clause.verb)
    return bool(leg.only_if and same and reference_in(clause.text))


def _besides(plan: MissionPlan, mentions: Iterable[Mention]) -> Iterator[Mention]:
    """What the planner has said of the goal, and the account has not."""
    told = {mention.text for mention in mentions}
    return (mention for mention in plan.mentions if mention.text not in told)


def _replaced(one: Replaced) -> Mention:
    """What a correction came to."""
    used = f"{one.by} in the place of {one.was}" if one.by else f"{one.was} is taken back"
    return Mention(text=one.said, kind="correction", used_as=used)


def _joined(paths: Iterable[Path]) -> Path:
    whole = Path()
    for path in paths:
        whole |= path
    return whole


def _holds(text: str, clause: ClauseReading) -> bool:
    """Whether a leg's goal takes a clause up: most of its words, and the thing that it is about."""
    own = set(content_stems(text))
    things = {word for thing in clause.objects for word in content_stems(thing)}
    same_thing = not things or any({word, *synonyms_of(word)} & own for word in things)
    return same_thing and takes_up(text, clause)
