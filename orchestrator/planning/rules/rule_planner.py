"""The planner without a model: carries out simple goals whose every word is accounted for."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import charged_price
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    DiscoverTools,
    Fact,
    GiveUp,
    GoalBrief,
    MissionPlan,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.account import Run
from orchestrator.planning.rules.chain import Chain, is_offering, is_produced, needs_of, value_for
from orchestrator.planning.rules.choose import choose, filtered, keeps, matches, mismatches
from orchestrator.planning.rules.clause import read_clause
from orchestrator.planning.rules.endings import (
    ask_for,
    ask_what_is_meant,
    details,
    done_phrase,
    finish,
    none_of_each,
    stopped_by,
    which,
)
from orchestrator.planning.rules.fill import Draft
from orchestrator.planning.rules.items import Item, goes_on, next_page, read_items, turning_inputs
from orchestrator.planning.rules.parameters import TEXTS, Kind, Leaf, as_typed, tool_parameters
from orchestrator.planning.rules.split import Reader, Reading, routed, router_failed, split
from orchestrator.planning.rules.target import find_target, refers_back
from orchestrator.planning.rules.tool_words import id_nouns, is_in_path
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection

_MAX_PAGES: Final = 10
_MOST_SEARCHES: Final = 3


class RulePlanner:
    """Plans simple goals by rules: deterministic, without network access or state.

    Each step depends only on its context, its selection and the catalog.
    """

    def __init__(self, routers: Callable[[Catalog], Router]) -> None:
        """Take the source of a catalog's router, which should cache, as each split calls it."""
        self._routers = routers

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """Return one leg for each clause of the goal; see `split`."""
        return split(brief, catalog, agents, self._router(catalog))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """Return the next step of one leg.

        Raises:
            GoalUnread: the router failed, and fails again.
        """
        text, wall = context.leg_goal, context.agent.wall
        if selection.band == "fail_open":
            known = route_context(context)
            selection = routed(self._router(catalog), text, known, now=context.now)
        is_resolved = bool(context.facts)
        reader = Reader(catalog, context.inputs, context.now, (wall,), is_resolved)
        ordered = [catalog.tools[name] for name in context.ordered_tools if name in catalog.tools]
        if ordered:
            reading = reader.read(text, ordered[0])
        else:
            clause = read_clause(text, now=context.now)
            best = reader.best(text, find_target(clause, selection, catalog, (wall,)))
            if best is None:
                searched = [o for o in context.observations if o.outcome == "discovered"]
                if any(o.arguments.get("query") == text for o in searched):
                    return GiveUp(reason=f"no tool that was found does {text!r}")
                return DiscoverTools(query=text)
            reading = best
        if not is_inside(reading.target, (wall,)):
            return GiveUp(reason=wall.refusal(reading.target.name))
        return Leg(context, catalog, frozenset(selection.tools), reading).decide()

    def _router(self, catalog: Catalog) -> Router:
        try:
            return self._routers(catalog).without_deadline()
        except Exception as error:  # without a router, no request can be read, whatever the error
            raise router_failed(f"{type(error).__name__} while indexing the catalog") from error


class _Due(Exception):
    """The step that precedes the call: another call, a question, or the end of the leg."""

    def __init__(self, step: StepDecision) -> None:
        self.step = step


class _Unsaid(Exception):
    """Values that only a person can supply."""

    def __init__(self, *leaves: tuple[Tool, Leaf]) -> None:
        self.leaves = leaves


@dataclass(frozen=True)
class Supplied:
    """The values that one item supplies, and the item."""

    values: Mapping[tuple[str | int, ...], JsonValue]
    items: tuple[Item, ...] = ()
    note: str = ""


@dataclass
class Leg:
    """A leg at one step: its clause, and the outcomes of its earlier steps."""

    context: StepContext
    catalog: Catalog
    shown: frozenset[str]
    reading: Reading

    @property
    def target(self) -> Tool:
        """The tool that carries out the leg."""
        return self.reading.target

    def decide(self) -> StepDecision:
        """Return the next step."""
        if (stopped := stopped_by(self.context.observations)) is not None:
            return stopped
        try:
            if (unclear := ask_what_is_meant(self.reading, self.context.inputs)) is not None:
                return unclear
            account, done = self.reading.account, self._done()
            is_one = not account.is_all and (account.count or 1) == 1
            if not (is_one and self.target.is_side_effect and done):  # whatever was chosen for it
                for arguments, note in self._wanted(done):
                    if (step := self._next(arguments, note)) is not None:
                        return step
            return finish(self.reading, done, self.context.output_schema)
        except _Unsaid as unsaid:
            return ask_for(unsaid.leaves, self.reading, self.context.inputs, self.catalog)
        except _Due as due:
            if not isinstance(due.step, GiveUp):
                return due.step
            return none_of_each(self.reading, self.context.observations) or due.step

    def _wanted(self, done: Sequence[Observation]) -> list[tuple[JsonObject, str]]:
        """Return the requested calls, without as many open ones as people have amended."""
        calls = self._calls()
        wanted = {_essential(self.target, arguments) for arguments, _ in calls}
        amended = sum(
            seen.side_effect and _essential(self.target, seen.arguments) not in wanted
            for seen in done
        )
        open_calls = [one for one in calls if not any(self._all_seen(self.target, one[0]))]
        return [one for one in calls if one not in open_calls[:amended]]

    def _done(self) -> list[Observation]:
        seen = self.context.observations
        return [o for o in seen if o.tool == self.target.name and o.outcome == "succeeded"]

    # -- calls ------------------------------------------------------------------------------------

    def _calls(self) -> list[tuple[JsonObject, str]]:
        calls: list[tuple[JsonObject, str]] = []
        for one in self._supplied(self.reading.chain):
            filled = _with(self.reading.chain.draft, one.values)
            listed = self._listed_spending(filled)
            missing = [leaf for leaf in filled.missing if leaf.name not in listed]
            if missing:
                raise _Unsaid(*((self.target, leaf) for leaf in missing))
            if self.target.is_side_effect:
                for run in self._shared_filters if one.items and self._shares_filters else ():
                    if not any(matches(item, run) for item in one.items):
                        raise _Due(GiveUp(reason=f"nothing that was found is called {run.text!r}"))
                for item in one.items:
                    wrong = mismatches(self.reading.chain.drafts, item, filled)
                    if wrong is not None and not set(wrong.fields) <= set(self.context.inputs):
                        raise _Due(wrong)
            calls.append(({**filled.arguments, **listed}, one.note))
        return calls

    def _listed_spending(self, draft: Draft) -> JsonObject:
        """Return a list of amounts, one per earlier leg that paid, if the clause names none."""
        open_leaves = [leaf for leaf in draft.missing if leaf.path[1:2] == (0,)]
        names = {leaf.name for leaf in open_leaves}
        is_spending = any(leaf.parameter.kind is Kind.AMOUNT for leaf in open_leaves)
        made: list[JsonValue] = []
        for tool, fact in self._made() if is_spending and len(names) == 1 else ():
            price = fact.price or charged_price(tool, fact.arguments, fact.body)
            if price is None:
                continue
            given = {Kind.AMOUNT: (*as_typed(str(price.amount)),), Kind.CURRENCY: (price.currency,)}
            row: JsonObject = {}
            for leaf in open_leaves:
                texts = given.get(leaf.parameter.kind, (done_phrase(tool),))
                row[str(leaf.path[-1])] = leaf.parameter.first_accepted(*texts)
            if None not in row.values():
                made.append(row)
        return {names.pop(): made} if made else {}

    @property
    def _shares_filters(self) -> bool:
        """True if items of several lists are taken, each by some of the words."""
        return len(self.reading.chain.feeders) > 1

    @cached_property
    def _shared_filters(self) -> list[Run]:
        """Return the filters of all lists: an id that was said chooses from its own list alone."""
        chain = self.reading.chain
        ids = [one for path, one in chain.draft.said.items() if path in chain.feeders]
        filters = self.reading.account.filters
        return [run for run in filters if not any(one.overlaps([run.span]) for one in ids)]

    def _supplied(self, chain: Chain) -> list[Supplied]:
        """Return the values from answers for the inputs of a call, one set per intended item."""
        unsaid: list[tuple[Tool, Leaf]] = []
        found: list[Supplied] = [Supplied({})]
        for leaf in needs_of(chain.draft):
            if any(leaf.path in one.values for one in found):
                continue
            try:
                more = self._supplies(leaf, chain)
                found = [
                    Supplied({**a.values, **b.values}, (*a.items, *b.items), b.note or a.note)
                    for a in found
                    for b in more
                ]
            except _Unsaid as missing:
                unsaid += missing.leaves
        if unsaid:
            raise _Unsaid(*unsaid)
        return found

    def _supplies(self, leaf: Leaf, chain: Chain) -> list[Supplied]:
        """Return the values for one input: from answers, from facts, or already known."""
        if leaf.path in chain.feeders:
            return self._from_answers(leaf, chain)
        made, kind = self._made(), leaf.parameter.kind
        if leaf.path in chain.draft.found:
            return [Supplied({})]
        if len(made) == 1 and kind in TEXTS and refers_back(self.reading.clause):
            # The single consequence of earlier legs as text: its title, or also its details.
            title = done_phrase(made[0][0])
            whole = f"{title}: {', '.join(details(made[0][1].body))}."
            texts = (title,) if kind is Kind.TITLE else (whole, title)
            if (text := leaf.parameter.first_accepted(*texts)) is not None:
                return [Supplied({leaf.path: text})]
        if facts := self._items_of_facts(leaf):
            return self._chosen(facts, leaf, chain.draft, chain.tool, {}, offers=False)
        if leaf.name in self._listed_spending(chain.draft):
            return [Supplied({})]
        raise _Unsaid((chain.tool, leaf))

    def _from_answers(self, leaf: Leaf, chain: Chain) -> list[Supplied]:
        """Return the values for an input from the answers of its feeding tool.

        Without an answer, the feeding tool's call is the due step.
        """
        if own := self._items_of_facts(leaf):
            try:
                return self._chosen(own, leaf, chain.draft, chain.tool, {}, offers=False)
            except (_Due, _Unsaid):
                if refers_back(self.reading.clause):
                    raise  # "it" is one of these, and no search would find it
        feeder = chain.feeders[leaf.path]
        tool, draft = feeder.tool, _with(feeder.draft, self._supplied(feeder)[0].values)
        if draft.missing:
            raise _Unsaid(*((tool, missing) for missing in draft.missing))
        arguments = draft.arguments
        tried = [*self._all_seen(tool, arguments)]
        done = [one for one in tried if one.outcome == "succeeded"]
        if not tried:
            raise _Due(self._call(tool, arguments, ""))
        if not done and tried[-1].outcome == "unknown" and len(tried) < 2:
            raise _Due(self._call(tool, arguments, "the last attempt got no answer"))
        if (page := self._next_page(tool, arguments)) is not None:
            raise _Due(page)
        if not done:
            failed = tried[-1]
            raise _Due(GiveUp(reason=f"{tool.name} failed: {failed.error or failed.outcome}"))
        asked = done[-1].arguments
        items = [
            item
            for page in self._pages(tool, asked)
            for item in read_items(page.body, tool=tool, asked=page.arguments)
            if value_for(item, leaf) is not None
        ]
        offers = is_offering(tool, chain.tool)
        return self._chosen(items, leaf, chain.draft, tool, asked, offers=offers)

    def _pages(self, tool: Tool, arguments: JsonObject) -> list[Observation]:
        """Return the answers to the last form of a call, one for each page of its list."""
        turning = turning_inputs(tool)
        asked = {k: v for k, v in arguments.items() if k not in turning}
        pages: list[Observation] = []
        for seen in self.context.observations:
            if seen.tool != tool.name or seen.outcome != "succeeded":
                continue
            if {k: v for k, v in seen.arguments.items() if k not in turning} == asked:
                pages = [seen] if seen.arguments == arguments else [*pages, seen]
        return pages

    def _next_page(self, tool: Tool, arguments: JsonObject) -> StepDecision | None:
        pages = self._pages(tool, arguments)
        following = next_page(tool, pages[-1]) if 0 < len(pages) < _MAX_PAGES else {}
        wanted = {**arguments, **following}
        if any(seen.arguments == wanted for seen in pages) or not following:
            return None
        return self._call(tool, wanted, "the next page")

    def _chosen(
        self,
        items: Sequence[Item],
        leaf: Leaf,
        draft: Draft,
        producer: Tool,
        asked: JsonObject,
        *,
        offers: bool,
    ) -> list[Supplied]:
        """Return the intended items of those found; a given id is never replaced."""
        consumer, is_answered = draft.tool, leaf.name in self.context.inputs
        if leaf.path in draft.said:
            return self._of_said(items, leaf, draft, producer, asked)
        if offers:
            items = self._still_offered(items, leaf, draft, producer, asked)
        account, pages = self.reading.account, self._pages(producer, asked)
        if self._shares_filters:
            filters = self._shared_filters
            fitting = [run for run in filters if any(matches(i, run) for i in items)]
            account = replace(account, filters=tuple(fitting))
        for parameter in (
            tool_parameters(producer) if consumer.is_side_effect and not offers else ()
        ):
            text = asked.get(parameter.name)
            if parameter.kind is Kind.QUERY and isinstance(text, str):
                # A search also finds merely similar items.
                run = Run(text, (0, 0), tuple(content_stems(text)), "")
                account = replace(account, filters=(*account.filters, run))
        if not self._is_counted(leaf, consumer):
            account = replace(account, is_all="", count=None)
        unread, continues = "", bool(pages) and goes_on(pages[-1].body)
        if continues or (len(pages) == 1 and turning_inputs(producer)):
            read = "only its first page was" if len(pages) == 1 else f"{len(pages)} pages were"
            lists = "lists" if continues else "may list"
            unread = f" ({producer.name} {lists} more, of which {read} read)"
        if account.is_all and consumer.is_side_effect and continues:
            raise _Due(GiveUp(reason=f"{account.is_all!r} cannot be done whole{unread}"))
        choice = choose(
            items,
            account,
            consumer=consumer,
            asked=asked,
            offers=offers,
            most=self.context.agent.max_items,
            said=frozenset(content_stems(self.reading.clause.text)),
        )
        if choice.items:
            taken = choice.items if consumer is self.target else choice.items[:1]
            return [Supplied(_values(item, leaf, draft), (item,), choice.note) for item in taken]
        if choice.asks and not is_answered:
            raise _Due(which(choice.asks, f"{choice.why}{unread}", leaf, consumer))
        why = choice.why or f"{producer.name} found nothing that fits the request"
        raise _Due(GiveUp(reason=f"{why}{unread}"))

    def _still_offered(
        self, items: Sequence[Item], leaf: Leaf, draft: Draft, producer: Tool, asked: JsonObject
    ) -> Sequence[Item]:
        """Return the offers that neither a person nor the provider has refused.

        Without any, the search is due again if the provider refused the last one and may have new
        offers: only a few times, as the provider may refuse for another reason.
        """
        seen, consumer = self.context.observations, draft.tool
        refused = [
            one
            for one in seen
            if one.tool == consumer.name
            and (one.outcome == "rejected" or (one.outcome == "refused" and one.refused_by))
        ]
        if not refused:
            return items
        last, gone = refused[-1], [one.arguments.get(leaf.name) for one in refused]
        items = [i for i in items if _values(i, leaf, draft).get(leaf.path) not in gone]
        hint = last.hint if last.sent_back else ""
        if items and hint and leaf.name not in self.context.inputs:
            why = f"the rules do not carry out {hint[:120]!r}"
            raise _Due(which(items, why, leaf, consumer))
        if items:
            return items
        why = last.error or "it was refused"
        searches = [one for one in seen if one.tool == producer.name]
        is_older = bool(searches) and searches[-1].step < last.step
        if is_older and last.outcome == "rejected" and len(searches) < _MOST_SEARCHES:
            raise _Due(self._call(producer, asked, f"searched again: {why}"))
        raise _Due(GiveUp(reason=f"{why}; nothing else fits"))

    def _is_counted(self, leaf: Leaf, consumer: Tool) -> bool:
        """Return True if "all" or a number applies to the items that an input takes."""
        feeders = [path for path in self.reading.chain.feeders if consumer is self.target]
        if len(feeders) < 2:
            return True
        said = {stem(word) for word in tokens(self.reading.account.is_all)}
        by_path = {one.path: one.parameter for one in self.reading.chain.draft.leaves}
        named = [p for p in feeders if said & id_nouns(consumer, by_path[p])]
        return leaf.path == (named or feeders)[0]

    def _of_said(
        self, items: Sequence[Item], leaf: Leaf, draft: Draft, producer: Tool, asked: JsonObject
    ) -> list[Supplied]:
        """Return the item with the given id, or the id itself if the path takes it."""
        said, account = draft.said[leaf.path], self.reading.account
        run = Run(said.text, (said.start, said.end), (), "", said)
        found = [item for item in items if matches(item, run)]
        # Pages of a list may repeat an item.
        named = [*{json.dumps(value_for(item, leaf)): item for item in found}.values()]
        if len(named) > 1:
            raise _Due(which(named, "several are called so", leaf, draft.tool))
        if named:
            item, wrong = named[0], []
            if self.target.is_side_effect and not self._shares_filters:
                rest = [run for run in account.filters if not said.overlaps([run.span])]
                wrong = [repr(run.text) for run in rest if not matches(item, run)]
                wrong += [repr(one.text) for one in account.limits if not keeps(item, one)]
            if wrong and leaf.name not in self.context.inputs:
                why = f"{said.text!r} is not {', '.join(wrong)}"
                raise _Due(which(named, why, leaf, draft.tool))
            return [Supplied(_values(item, leaf, draft), (item,))]
        ids = [c for c in draft.said.values() if c.kind in ("id", "number", "name")]
        rest = [run for run in account.filters if not any(one.overlaps([run.span]) for one in ids)]
        if rest and draft.tool.is_side_effect:
            raise _Due(GiveUp(reason=f"nothing tells whether {said.text!r} is {rest[0].text!r}"))
        # A search by other words of the clause shows that the id is none of what was meant.
        searches = [one.said for one in self.reading.chain.drafts if one.tool is producer]
        words = {str(path[0]): one.text for by in searches for path, one in by.items()}
        narrowed = any(
            words.get(name, said.text) != said.text and not is_in_path(producer, name)
            for name in asked
        )
        if not narrowed and (is_in_path(draft.tool, leaf.name) or not items):
            return [Supplied({leaf.path: draft.found[leaf.path]})]
        raise _Due(GiveUp(reason=f"nothing that was found is called {said.text!r}"))

    # -- facts ------------------------------------------------------------------------------------

    def _items_of_facts(self, leaf: Leaf) -> list[Item]:
        """Return the items that earlier legs made or found and that have an input's value."""
        if not is_produced(leaf.parameter):
            return []
        found: list[Item] = []
        for fact in reversed(self.context.facts):
            tool = self.catalog.tools.get(fact.tool)
            if tool is None:
                continue
            items = read_items(fact.body, tool=tool, asked=fact.arguments)
            found += [one for one in items if value_for(one, leaf) is not None]
            if found:
                break
        kept, _ = filtered(found, self.reading.account.filters)
        return kept

    def _made(self) -> list[tuple[Tool, Fact]]:
        tools = self.catalog.tools
        return [
            (tools[one.tool], one)
            for one in self.context.facts
            if one.side_effect and one.tool in tools
        ]

    def _next(self, arguments: JsonObject, note: str) -> StepDecision | None:
        """Return the call of the target unless it succeeded; the end of the leg if impossible."""
        target, seen = self.target, [*self._all_seen(self.target, arguments)]
        if any(one.outcome == "succeeded" for one in seen):
            return None if target.is_side_effect else self._next_page(target, arguments)
        if not seen or (seen[0].outcome == "unknown" and not (seen[1:] or target.is_side_effect)):
            return self._call(target, arguments, note)
        last = seen[-1]
        if last.refused_by:
            error = last.error or f"{last.refused_by} refused it"
            return GiveUp(reason=f"{error}; there is no other way")
        return GiveUp(reason=f"{target.name} failed: {last.error or last.outcome}")

    def _call(self, tool: Tool, arguments: JsonObject, note: str) -> StepDecision:
        shown = {*self.shown, *self.context.discovered, *self.context.forwarded}
        if tool.name in shown or tool.load_policy == "core":
            return CallTool(tool=tool.name, arguments=arguments, reason=note)
        searched = [o for o in self.context.observations if o.outcome == "discovered"]
        if any(o.arguments.get("query") == tool.name for o in searched):
            return GiveUp(reason=f"{tool.name} is not among the tools that this part may call")
        return DiscoverTools(query=tool.name)

    def _all_seen(self, tool: Tool, arguments: JsonObject) -> Iterator[Observation]:
        wanted = _essential(tool, arguments)
        for seen in self.context.observations:
            is_call = seen.tool == tool.name and seen.outcome != "discovered"
            if is_call and _essential(tool, seen.arguments) == wanted:
                yield seen


def _with(draft: Draft, values: Mapping[tuple[str | int, ...], JsonValue]) -> Draft:
    made = Draft(draft.tool, draft.leaves, {**draft.found}, [*draft.used], {**draft.said})
    for leaf in draft.leaves:
        if leaf.path in values and values[leaf.path] is not None:
            given = leaf.parameter.first_accepted(*as_typed(values[leaf.path]))
            made.found[leaf.path] = values[leaf.path] if given is None else given
    return made


def _values(item: Item, leaf: Leaf, draft: Draft) -> dict[tuple[str | int, ...], JsonValue]:
    """Return the values of an item for the input looked up, and for other open inputs."""
    found: dict[tuple[str | int, ...], JsonValue] = {}
    for other in draft.leaves:
        is_open = other.path == leaf.path or (
            other.required and other.path not in draft.found and is_produced(other.parameter)
        )
        value = value_for(item, other) if is_open else None
        if value is not None:
            found[other.path] = value
    return found


def _essential(tool: Tool, arguments: JsonObject) -> str:
    """Return the arguments that distinguish calls, without generated references and defaults."""
    unset = object()
    defaults = {n: tool.properties.get(n, {}).get("default", unset) for n in arguments}
    kept = {
        name: value
        for name, value in arguments.items()
        if name not in tool.reference_inputs and value != defaults[name]
    }
    return json.dumps(kept, sort_keys=True, default=str)
