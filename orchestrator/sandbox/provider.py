"""The generic provider: finds, makes, changes and cancels things as one document describes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from orchestrator.sandbox import filters
from orchestrator.sandbox.currency_amount import MONEY_NAMES, CurrencyAmount, find_money
from orchestrator.sandbox.documents import UNNAMED, Document
from orchestrator.sandbox.effect_ledger import Cause, EffectKind, EffectLedger, EffectStatus
from orchestrator.sandbox.json_object import JsonObject
from orchestrator.sandbox.playbook import Draft, Playbook
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider_call import Call, ProviderAnswer
from orchestrator.sandbox.resource_finder import KEY, SENT, ResourceFinder
from orchestrator.sandbox.served_operations import OperationKind, ServedOperation, is_id
from orchestrator.sandbox.served_schemas import Schema
from orchestrator.sandbox.store import GivenAnswer, Resource, Store
from orchestrator.sandbox.synthesis import Scene, Synthesizer

_DATE = re.compile(r"^(\d{4}-\d{2}-\d{2})")
# Facts of a thing that are not facts of what is made from it.
_OWN_FACTS = ("status", "client_reference", "created_at", "cancelled_at", "expires_at", SENT)
_TROUBLE = ("cancel", "refund", "void", "reject", "fail", "error")
_COUNTS = ("total", "count", "total_count", "total_results", "total_items", "result_count")


class Provider:
    """Answers the calls of one document; the caller holds the transaction."""

    def __init__(
        self,
        document: Document,
        ledger: EffectLedger,
        *,
        playbook: Playbook,
        seed: int = 0,
        is_stocked: bool = False,
    ) -> None:
        self._document = document
        self._is_stocked = is_stocked
        self._ledger = ledger
        self._store = Store(ledger.database, document.name)
        self._playbook = playbook
        self._find = ResourceFinder(document, self._store, playbook, is_stocked=is_stocked)
        self._seed = seed
        self._make = Synthesizer(document.book, playbook.words)

    def answer(self, call: Call) -> ProviderAnswer:
        """Do what the call asks, once per idempotency key.

        Raises:
            RequestRefused: the call is refused, and nothing was done.
        """
        operation, key = call.operation, call.cause.idempotency_key
        if key is None or operation.kind is OperationKind.READ:
            body = self._perform(call)
            return ProviderAnswer(operation.success_status, body, headers=self._headers(call))
        given = self._store.answer(operation.operation_id, key)
        if given is None:
            body = self._perform(call)
            given = GivenAnswer(call.fingerprint, operation.success_status, body)
            self._store.keep_answer(operation.operation_id, key, given)
            return ProviderAnswer(given.status, body, headers=self._headers(call))
        if given.fingerprint != call.fingerprint:
            detail = f"Idempotency-Key {key!r} came before with another request."
            raise RequestRefused(operation.refusal(422, 409), detail)
        return ProviderAnswer(given.status, given.body, replayed=True, headers=self._headers(call))

    def _headers(self, call: Call) -> dict[str, str]:
        """The headers that name what the call made, where the contract reads one."""
        wanted = self._document.answered_headers(call.operation)
        if not wanted:
            return {}
        key = call.cause.idempotency_key
        # Newest first: without a key the newest is what was made just now.
        made = self._store.resources_of(call.operation.operation_id)
        own = (r for r in made if key is None or r.facts.get(SENT, {}).get(KEY) == key)
        found = next(own, None)
        return dict.fromkeys(wanted, found.resource_id) if found else {}

    def _perform(self, call: Call) -> Any:
        match call.operation.kind:
            case OperationKind.CREATE:
                return self._create(call)
            case OperationKind.UPDATE:
                return self._update(call)
            case OperationKind.CANCEL:
                return self._cancel(call)
            case OperationKind.READ:
                return self._read(call)

    # Making things

    def _create(self, call: Call) -> JsonObject:
        operation = call.operation
        named = self._document.resource_ids.get(operation.operation_id, UNNAMED)
        parents = self._find.parents(call)
        again = self._again(call, named)
        if again is None:
            self._refuse_known_reference(call, named)
        identity = self._identity(call, named, is_known=again is not None)
        resource_id = str(identity)
        body = self._new_body(call, named, identity, parents)
        inherited = {k: v for k, v in parents.items() if k not in _OWN_FACTS}
        facts = {**inherited, **call.arguments, named: identity, **self._told(operation, body)}
        facts[SENT] = {**call.arguments, KEY: call.cause.idempotency_key}
        reference = again.client_reference if again else call.cause.client_reference
        self._store.keep(
            Resource(named, resource_id, operation.operation_id, reference, facts),
        )
        self._store.forget_cancellations(resource_id)
        for name in self._document.known_ids & set(body) - {named, *call.arguments}:
            # An upload also makes a file: what a create hands out can be named later.
            self._remember(name, [body])
        self._record(call, "create", "live", named, resource_id, call.cause, find_money(body))
        return body

    def _new_body(
        self, call: Call, named: str, identity: str | int, parents: Mapping[str, Any]
    ) -> JsonObject:
        schema = call.operation.answer_schema
        if schema is None:
            return {}
        hints = {**call.arguments, **{k: v for k, v in parents.items() if k not in _OWN_FACTS}}
        thing = self._document.thing_schema(call.operation)
        hints |= self._due(thing, hints, parents)
        hints |= {named: identity, **self._state(thing, is_undone=False)}
        hints |= self._verb_state(call.operation)
        if call.cause.client_reference:
            hints["client_reference"] = call.cause.client_reference
        inputs, wrapper = self._document.input_names, self._document.wrapper(call.operation)

        def omit(name: str) -> bool:
            if name in hints or name in wrapper:
                return False
            return name in inputs or name.startswith(_TROUBLE)

        draft = self._draft(call, parents)
        draft.body = self._make.object(schema, replace(self._scene(call, hints), omit=omit))
        self._behave(draft)
        return draft.body

    def _told(self, operation: ServedOperation, body: JsonObject) -> JsonObject:
        """What an answer says of the thing it is about."""
        for step in self._document.wrapper(operation):
            inner = body.get(step)
            body = inner if isinstance(inner, dict) else {}
        return body

    def _identity(self, call: Call, named: str, *, is_known: bool) -> str | int:
        """The id of what a call makes: the caller's choice, what it names already, or a new one."""
        chosen = call.operation.chosen_name
        if chosen is not None:
            identity: str | int = call.arguments[chosen]
            return identity
        # Of a stocked provider's things nobody knows which exist: what the path names does.
        if is_known or (self._is_stocked and named in call.operation.path_names):
            identity = call.arguments[named]
            return identity
        return self._fresh_id(call, named)

    def _again(self, call: Call, named: str) -> Resource | None:
        """The thing this call changes into something binding, when it names one of its own."""
        value = call.arguments.get(call.operation.chosen_name or named)
        return self._store.resource(named, str(value)) if is_id(value) else None

    def _refuse_known_reference(self, call: Call, named: str) -> None:
        reference = call.cause.client_reference
        known = self._store.resource_by_reference(reference, named) if reference else None
        if known:
            detail = f"client_reference {reference!r} already names {named} {known.resource_id}."
            raise RequestRefused(call.operation.refusal(409, 422), detail)

    def _fresh_id(self, call: Call, named: str) -> str | int:
        thing = self._document.thing_schema(call.operation)
        schema = self._document.book.properties(thing).get(named, {})
        number = self._store.count()
        while True:
            rng = Random(f"{self._seed}:{call.operation.operation_id}:{number}")
            made = self._make.identifier(schema or {"type": "string"}, rng, name=named)
            if self._store.resource(named, str(made)) is None:
                return made
            number += 1

    def _due(
        self, schema: Schema, hints: Mapping[str, Any], parents: Mapping[str, Any]
    ) -> JsonObject:
        """The price that was offered, under the name and in the shape of this answer."""
        offered = find_money(parents)
        if offered is None:
            return {}
        properties = self._document.book.properties(schema)
        wanted = {k: v for k, v in properties.items() if k in MONEY_NAMES and k not in hints}
        return {name: self._written(inner, offered) for name, inner in wanted.items()}

    def _written(self, schema: Schema, amount: CurrencyAmount) -> Any:
        is_object = self._document.book.type_of(self._document.book.resolve(schema)) == "object"
        return amount.to_json() if is_object else float(amount.amount)

    # Changing things

    def _update(self, call: Call) -> JsonObject:
        resource = self._find.named(call)
        if resource is None:
            return self._create(call)
        state = self._verb_state(call.operation)
        facts = {**resource.facts, **call.arguments, **state}
        draft = self._draft(call, resource.facts)
        draft.body = self._projected(call, call.operation.answer_schema, facts)
        self._behave(draft)
        self._store.keep(replace(resource, facts={**facts, **draft.body}))
        named, resource_id = resource.named, resource.resource_id
        self._record(call, "update", "live", named, resource_id, call.cause, None)
        return draft.body

    def _verb_state(self, operation: ServedOperation) -> JsonObject:
        """The state an operation is named for: expense_approve_report gives "approved"."""
        states = self._document.book.resolve(
            self._document.book.properties(self._document.thing_schema(operation)).get("status", {})
        ).get("enum", [])
        stems = [word[:5] for word in operation.operation_id.split("_") if len(word) > 3]
        reached = (state for stem in stems for state in states if str(state).startswith(stem))
        state = next(reached, None)
        return {"status": state} if state else {}

    # Undoing things

    def _cancel(self, call: Call) -> JsonObject:
        operation = call.operation
        resource = self._find.to_cancel(call)
        earlier = self._store.cancellation(operation.operation_id, resource.resource_id)
        if earlier is not None:
            self._refuse_second_delete(call)
            answered: JsonObject = earlier
            return answered
        draft = self._draft(call, resource.facts)
        draft.body = self._cancelled_body(call, resource)
        self._behave(draft)
        self._close(call, resource, draft.body)
        return draft.body

    def _refuse_second_delete(self, call: Call) -> None:
        """Without a key a second DELETE finds nothing, at the many providers that say so."""
        operation = call.operation
        gone = next((status for status in (404, 410) if operation.declares(status)), None)
        if operation.method == "delete" and call.cause.idempotency_key is None and gone:
            raise RequestRefused(gone, f"{operation.path} is deleted already.")

    def _close(self, call: Call, resource: Resource, body: JsonObject) -> None:
        resource_id, named = resource.resource_id, resource.named
        made_by = self._document.operation(resource.operation)
        state = self._state_after(call, resource, made_by) if made_by else {}
        self._store.keep(replace(resource, facts={**resource.facts, **state}))
        self._store.keep_cancellation(call.operation.operation_id, resource_id, body)
        undone: list[str | None] = [o.operation_id for o in self._find.makers(call.operation)]
        # A cancel without a pair, such as a DELETE, ends whatever the resource stands for.
        for operation_id in undone or [None]:
            self._ledger.mark_cancelled(
                provider=self._document.name, resource_id=resource_id, operation=operation_id
            )
        cause = replace(call.cause, client_reference=resource.client_reference)
        refund = find_money(resource.facts)
        self._record(call, "cancel", "cancelled", named, resource_id, cause, refund)

    def _state_after(self, call: Call, resource: Resource, said_by: ServedOperation) -> JsonObject:
        """Undone, unless the cancel takes back only what was later done to the thing."""
        makers = [operation.operation_id for operation in self._find.makers(call.operation)]
        is_whole = not makers or resource.operation in makers
        return self._state(self._document.thing_schema(said_by), is_undone=is_whole)

    def _cancelled_body(self, call: Call, resource: Resource) -> JsonObject:
        schema = call.operation.answer_schema
        if schema is None:
            return {}
        hints = {**resource.facts, "cancelled_at": call.at}
        hints |= self._state_after(call, resource, call.operation)
        paid = find_money(resource.facts)
        if paid:
            hints |= {"refund": paid.to_json(), "refund_amount": float(paid.amount)}
        unknown = {"reason", "client_reference", "refund", "refund_amount"} - set(hints)
        scene = replace(self._scene(call, hints), omit=lambda name: name in unknown)
        return self._make.object(schema, scene)

    # Finding things

    def _read(self, call: Call) -> Any:
        if call.operation.list_name is not None:
            return self._list(call)
        schema = call.operation.answer_schema
        if schema is None:
            return {}
        facts = self._found(call)
        draft = self._draft(call, facts)
        draft.body = self._projected(call, schema, {**call.arguments, **facts})
        self._behave(draft)
        return draft.body

    def _found(self, call: Call) -> Mapping[str, Any]:
        sent = self._find.by_what_was_sent(call)
        if sent is not None:
            return sent.facts
        if "client_reference" in call.arguments:
            answered = self._document.book.properties(call.operation.answer_schema or {})
            made = self._document.resource_ids.values()
            return self._find.by_reference(
                call, next((n for n in answered if n in made), None)
            ).facts
        return self._find.parents(call)

    def _list(self, call: Call) -> Any:
        operation = call.operation
        parents = self._find.parents(call)
        draft = self._draft(call, parents)
        named = self._document.listed_resource(operation)
        offered = self._document.offered_ids(operation)
        standing = self._standing(call, [named] if named else offered)
        if named:
            draft.items = [*self._stored(call, named), *standing]
        else:
            draft.items = standing or self._offers(call, parents)
        self._behave(draft)
        if not named:
            draft.items.sort(key=_price)
        draft.items = filters.keep(draft.items, call.arguments, ranks=self._ranks(operation))
        draft.items = draft.items[: self._most(operation)]
        for name in offered:
            self._remember(name, draft.items)
        return self._list_body(call, draft)

    def _stored(self, call: Call, named: str) -> list[JsonObject]:
        newest_first = reversed(self._store.resources(named))
        try:
            sent = self._find.by_what_was_sent(call)
        except RequestRefused:
            return []
        if sent is not None:
            newest_first = iter([sent])
        schema = call.operation.item_schema or {}
        items = [self._projected(call, schema, resource.facts) for resource in newest_first]
        return filters.match(items, call.arguments, is_span=_asks_for_span(call.operation))

    def _standing(self, call: Call, names: list[str]) -> list[JsonObject]:
        things = [thing for name in names for thing in self._playbook.standing.get(name, ())]
        schema = call.operation.item_schema or {}
        items = [self._projected(call, schema, thing) for thing in things]
        return filters.match(items, call.arguments, is_span=_asks_for_span(call.operation))

    def _offers(self, call: Call, parents: Mapping[str, Any]) -> list[JsonObject]:
        if any(self._playbook.standing.get(n) for n in self._document.offered_ids(call.operation)):
            return []
        schema = call.operation.item_schema or {}
        rng = self._rng(call)
        shuffled = {k: rng.sample(v, len(v)) for k, v in self._playbook.words.items()}
        said = {**parents, **call.arguments}
        offers = []
        for number in range(rng.randint(3, 5)):
            # In turn, so that no two items of one answer share a name.
            words = {name: choices[number % len(choices)] for name, choices in shuffled.items()}
            offers.append(self._offer(call, schema, {**words, **said}, f"{rng.random()}"))
        return offers

    def _offer(self, call: Call, schema: Schema, hints: Mapping[str, Any], salt: str) -> JsonObject:
        scene = replace(self._scene(call, hints), rng=Random(salt))
        return self._make.object(schema, scene)

    def _remember(self, name: str, items: list[JsonObject]) -> None:
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
        scene = replace(self._scene(call, hints), omit=lambda other: "cursor" in other)
        return {**self._make.object(schema, scene), **draft.body, name: draft.items}

    def _most(self, operation: ServedOperation) -> int | None:
        answer = self._document.book.resolve(operation.answer_schema or {})
        found = self._document.book.properties(answer).get(operation.list_name or "", answer)
        most: int | None = self._document.book.resolve(found).get("maxItems")
        return most

    def _ranks(self, operation: ServedOperation) -> dict[str, Any]:
        properties = self._document.book.properties(operation.item_schema or {})
        resolved = {name: self._document.book.resolve(inner) for name, inner in properties.items()}
        return {name: inner["enum"] for name, inner in resolved.items() if "enum" in inner}

    # Shared by all of them

    def _state(self, schema: Schema, *, is_undone: bool) -> JsonObject:
        properties = self._document.book.properties(schema)
        status = properties.get("status", {})
        state = self._make.status(status, is_undone=is_undone) if status else None
        return {"status": state} if state else {}

    def _projected(self, call: Call, schema: Schema | None, facts: Mapping[str, Any]) -> JsonObject:
        """What is known, in the shape of a schema; an optional property nobody set stays out."""
        if schema is None:
            return {}
        inputs, wrapper = self._document.input_names, self._document.wrapper(call.operation)
        made = self._document.known_ids & set(facts)

        def omit(name: str) -> bool:
            if name in wrapper:
                return False
            unsaid = bool(made) and name in inputs
            return name not in facts and (unsaid or name.startswith(_TROUBLE))

        # Seeded by what is described, so that two looks at one thing see the same.
        identity = ":".join(str(facts[name]) for name in sorted(made)) or call.fingerprint
        scene = self._scene(call, facts)
        return self._make.object(
            schema, replace(scene, rng=Random(f"{self._seed}:{identity}"), omit=omit)
        )

    def _draft(self, call: Call, parents: Mapping[str, Any]) -> Draft:
        return Draft(call=call, parents=parents, rng=self._rng(call))

    def _behave(self, draft: Draft) -> None:
        operation_id = draft.call.operation.operation_id
        behaviour = self._playbook.behaviour(operation_id, self._document.name)
        if behaviour:
            behaviour(draft)

    def _scene(self, call: Call, hints: Mapping[str, Any]) -> Scene:
        wrappers = self._document.wrapper(call.operation)
        return Scene(
            self._rng(call), call.now, _day(hints, call.now), hints, wrappers=frozenset(wrappers)
        )

    def _rng(self, call: Call) -> Random:
        """Chance that depends on what is asked for, not on how its answer is narrowed."""
        asked = {k: v for k, v in call.arguments.items() if not filters.is_filter(k)}
        text = json.dumps(asked, sort_keys=True)
        return Random(f"{self._seed}:{call.operation.operation_id}:{text}")

    def _record(
        self,
        call: Call,
        kind: EffectKind,
        status: EffectStatus,
        named: str,
        resource_id: str,
        cause: Cause,
        amount: CurrencyAmount | None,
    ) -> None:
        self._ledger.record_effect(
            at=call.at,
            provider=self._document.name,
            operation=call.operation.operation_id,
            kind=kind,
            resource_type=named.removesuffix("_id"),
            resource_id=resource_id,
            cause=cause,
            money=amount,
            status=status,
        )


def _price(item: JsonObject) -> float:
    found = find_money(item)
    return float(found.amount) if found else 0.0


def _asks_for_span(operation: ServedOperation) -> bool:
    return {"start_date", "end_date"} <= operation.input_names


def _day(hints: Mapping[str, Any], now: datetime) -> datetime:
    """The first date that the request speaks of, else today."""
    for value in hints.values():
        found = _DATE.match(value) if isinstance(value, str) else None
        if found:
            with suppress(ValueError):  # digits in a free text need not be a date
                return datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    return now
