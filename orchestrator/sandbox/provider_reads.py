"""Reads of one provider: single resources, and lists of resources or offers."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from orchestrator.sandbox import filters
from orchestrator.sandbox.answer_composer import AnswerComposer
from orchestrator.sandbox.currency_amount import find_money
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.playbook import Call, Draft, Playbook
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider_store import ProviderStore, Resource
from orchestrator.sandbox.resource_finder import OVER, SENT, ResourceFinder
from orchestrator.sandbox.served_operations import ServedOperation, is_id
from orchestrator.sandbox.served_schemas import JsonObject

_COUNTS = ("total", "count", "total_count", "total_results", "total_items", "result_count")

_PAGES = ("page", "pages", "current_page", "total_pages", "page_count", "last_page")


class ProviderReads:
    """Answers reads, and remembers what lists offer so that later calls can name it."""

    def __init__(
        self,
        document: Document,
        store: ProviderStore,
        playbook: Playbook,
        *,
        find: ResourceFinder,
        compose: AnswerComposer,
    ) -> None:
        self._document = document
        self._store = store
        self._playbook = playbook
        self._find = find
        self._compose = compose

    def answer(self, call: Call) -> Any:
        """Return the body of the answer: one resource, or a list.

        Raises:
            RequestRefused: the resource does not exist.
        """
        if call.operation.list_name is not None:
            return self._list(call)
        schema = call.operation.answer_schema
        if schema is None:
            return None
        facts = self._found(call)
        self._refuse_over(call, facts)
        body = self._compose.projected(call, schema, {**call.arguments, **facts})
        return self._compose.behaved(call, facts, body)

    def _refuse_over(self, call: Call, facts: Mapping[str, Any]) -> None:
        """Refuse to return a cancelled resource if the answer has no state to show it."""
        schema = self._document.resource_schema(call.operation)
        if facts.get(OVER) and not self._compose.state(schema, is_cancelled=True):
            raise RequestRefused(call.operation.refusal(404, 410), "It was cancelled.")

    def _found(self, call: Call) -> Mapping[str, Any]:
        sent = self._find.by_repeated_inputs(call)
        if sent is not None:
            return sent.facts
        if "client_reference" in call.arguments:
            answered = self._document.book.properties(call.operation.answer_schema or {})
            made = self._document.resource_ids.values()
            return self._find.by_reference(
                call, next((n for n in answered if n in made), None)
            ).facts
        facts = self._find.parents(call)
        named = self._find.at_place(call)
        place = call.operation.place
        offered = self._store.offer_of_id(str(call.arguments.get(place.parameter))) if place else {}
        return {**facts, **offered, **(named.facts if named else {})}

    def _list(self, call: Call) -> Any:
        operation = call.operation
        parents = self._find.parents(call)
        draft = Draft(call=call, parents=parents, rng=self._compose.rng(call))
        named = self._document.listed_resource(operation)
        offered = self._document.offered_ids(operation)
        standing = self._standing(call, [named] if named else offered)
        if named:
            draft.items = [*self._stored(call, named), *standing]
        else:
            draft.items = standing or self._offers(call, parents)
        self._compose.behave(draft)
        if not named:
            draft.items.sort(key=_price)
        draft.items = filters.keep(draft.items, call.arguments, ranks=self._ranks(operation))
        draft.items = draft.items[: self._most(operation)]
        for name in offered:
            self.remember(name, draft.items)
        return self._list_body(call, draft)

    def _stored(self, call: Call, named: str) -> list[JsonObject]:
        try:
            sent = self._find.by_repeated_inputs(call)
        except RequestRefused:
            return []
        found = self._kept(call, named) if sent is None else [sent]
        can_say = bool(self._compose.state(call.operation.item_schema or {}, is_cancelled=True))
        shown = [r.facts for r in found if can_say or not r.facts.get(OVER)]
        return self._matching(call, shown)

    def _kept(self, call: Call, named: str) -> list[Resource]:
        """Return the resources of the listed kind under the same parents."""
        place = self._document.kind_place(call.operation)
        makers = self._document.makers_at(place.things) if place else []
        if not makers:
            return self._store.resources(named)
        made = [r for maker in makers for r in self._store.resources_of(maker.operation_id)]
        parents = {n: call.arguments.get(n) for n in call.operation.path_names}
        return [r for r in made if _is_under(parents, r.facts)]

    def _standing(self, call: Call, names: list[str]) -> list[JsonObject]:
        things = [thing for name in names for thing in self._playbook.standing.get(name, ())]
        return self._matching(call, things)

    def _matching(self, call: Call, things: list[JsonObject]) -> list[JsonObject]:
        """Return the facts that match the call, as items of its list."""
        schema = call.operation.item_schema or {}
        items = [self._compose.projected(call, schema, facts) for facts in things]
        asks_for_span = {"start_date", "end_date"} <= call.operation.input_names
        return filters.match(items, call.arguments, is_span=asks_for_span)

    def _offers(self, call: Call, parents: Mapping[str, Any]) -> list[JsonObject]:
        if any(self._playbook.standing.get(n) for n in self._document.offered_ids(call.operation)):
            return []
        schema = call.operation.item_schema or {}
        rng = self._compose.rng(call)
        shuffled = {k: rng.sample(v, len(v)) for k, v in self._playbook.words.items()}
        known = {**parents, **call.arguments}
        offers = []
        properties = self._document.book.properties(schema)
        fullest = max((len(shuffled[name]) for name in shuffled if name in properties), default=0)
        for number in range(max(rng.randint(3, 5), fullest)):
            # In turn, so that items of one answer have distinct names and each name is offered.
            words = {name: choices[number % len(choices)] for name, choices in shuffled.items()}
            salt = Random(f"{rng.random()}")
            offers.append(self._compose.filled(call, schema, {**words, **known}, rng=salt))
        return offers

    def remember(self, name: str, items: list[JsonObject]) -> None:
        """Let later calls name these items by this id."""
        for item in items:
            if is_id(item.get(name)):
                self._store.remember_offer(name, str(item[name]), item)

    def _list_body(self, call: Call, draft: Draft) -> Any:
        name = call.operation.list_name
        if not name:
            return draft.items
        schema = call.operation.answer_schema or {}
        counts = dict.fromkeys(_COUNTS, len(draft.items))
        hints = {**call.arguments, **counts, **draft.body, name: draft.items}
        body = self._compose.filled(call, schema, hints, omit=lambda other: "cursor" in other)
        around = {key: _counted(value, len(draft.items)) for key, value in body.items()}
        return {**around, **draft.body, name: draft.items}

    def _most(self, operation: ServedOperation) -> int | None:
        answer = self._document.book.resolve(operation.answer_schema or {})
        found = self._document.book.properties(answer).get(operation.list_name or "", answer)
        most: int | None = self._document.book.resolve(found).get("maxItems")
        return most

    def _ranks(self, operation: ServedOperation) -> dict[str, Any]:
        properties = self._document.book.properties(operation.item_schema or {})
        resolved = {name: self._document.book.resolve(inner) for name, inner in properties.items()}
        return {name: inner["enum"] for name, inner in resolved.items() if "enum" in inner}


def _counted(value: Any, number: int) -> Any:
    """Set counts of items and pages in the values next to a list: {"pagination": ...}.

    Everything is on the first page.
    """
    if not isinstance(value, dict):
        return value
    known = {**dict.fromkeys(_COUNTS, number), **dict.fromkeys(_PAGES, 1)}
    return {
        key: known[key] if key in known and type(inner) is int else _counted(inner, number)
        for key, inner in value.items()
    }


def _price(item: JsonObject) -> float:
    found = find_money(item)
    return float(found.amount) if found else 0.0


def _is_under(parents: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    sent = facts.get(SENT, {})
    return all(sent.get(name, value) == value for name, value in parents.items())
