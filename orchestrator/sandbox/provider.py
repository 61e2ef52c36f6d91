"""The generic provider: creates, reads, lists, changes and cancels resources per document."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

from orchestrator.sandbox.answer_composer import (
    FAILURE_PREFIXES,
    NEGATIVE_PREFIXES,
    AnswerComposer,
    keep,
    match,
)
from orchestrator.sandbox.documents import ETAG, UNNAMED, VERSION, Document
from orchestrator.sandbox.effect_ledger import (
    MONEY_NAMES,
    Cause,
    CurrencyAmount,
    EffectKind,
    EffectLedger,
    find_money,
    raise_money,
)
from orchestrator.sandbox.playbook import Call, Draft, Playbook, ProviderAnswer
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider_store import (
    KEY,
    OVER,
    SENT,
    GivenAnswer,
    ProviderStore,
    Resource,
    ResourceFinder,
)
from orchestrator.sandbox.served_operations import OperationKind, Position, ServedOperation, is_id
from orchestrator.sandbox.served_schemas import JsonObject, Schema
from orchestrator.sandbox.synthesis import UnsupportedSchema

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

    def _list(self, call: Call) -> Any:
        operation = call.operation
        parents = self._find.parents(call)
        draft = Draft(call=call, parents=parents, rng=self._compose.rng(call))
        named = self._document.listed_resource(operation)
        offered = self._document.offered_ids(operation)
        things = [
            thing
            for name in ([named] if named else offered)
            for thing in self._playbook.standing.get(name, ())
        ]
        standing = self._matching(call, things)
        if named:
            draft.items = [*self._stored(call, named), *standing]
        else:
            draft.items = standing or self._offers(call, parents)
        self._compose.behave(draft)
        if not named:
            draft.items.sort(key=_price)
        properties = self._document.book.properties(operation.item_schema or {})
        resolved = {name: self._document.book.resolve(inner) for name, inner in properties.items()}
        draft.items = keep(
            draft.items,
            call.arguments,
            ranks={name: inner["enum"] for name, inner in resolved.items() if "enum" in inner},
        )
        answer = self._document.book.resolve(operation.answer_schema or {})
        found = self._document.book.properties(answer).get(operation.list_name or "", answer)
        most: int | None = self._document.book.resolve(found).get("maxItems")
        draft.items = draft.items[:most]
        for offered_id in offered:
            self.remember(offered_id, draft.items)
        name = call.operation.list_name
        if not name:
            return draft.items
        schema = call.operation.answer_schema or {}
        counts = dict.fromkeys(_COUNTS, len(draft.items))
        hints = {**call.arguments, **counts, **draft.body, name: draft.items}
        body = self._compose.filled(call, schema, hints, omit=lambda other: "cursor" in other)
        around = {key: _counted(value, len(draft.items)) for key, value in body.items()}
        return {**around, **draft.body, name: draft.items}

    def _refuse_over(self, call: Call, facts: Mapping[str, Any]) -> None:
        """Refuse to return a cancelled resource if the answer has no state to show that."""
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

    def _matching(self, call: Call, things: list[JsonObject]) -> list[JsonObject]:
        schema = call.operation.item_schema or {}
        items = [self._compose.projected(call, schema, facts) for facts in things]
        asks_for_span = {"start_date", "end_date"} <= call.operation.input_names
        return match(items, call.arguments, is_span=asks_for_span)

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
            # In turn, so that items of one answer have distinct names and each name occurs.
            words = {name: choices[number % len(choices)] for name, choices in shuffled.items()}
            salt = Random(f"{rng.random()}")
            offers.append(self._compose.filled(call, schema, {**words, **known}, rng=salt))
        return offers

    def remember(self, name: str, items: list[JsonObject]) -> None:
        """Remember these items, so that later calls can name them by this id."""
        for item in items:
            if is_id(item.get(name)):
                self._store.keep_note("offer", name, str(item[name]), item)


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


_STATES = ("status", "state")
_TIMES = ("created_at", "cancelled_at", "expires_at")
# Facts of a resource that are not inherited by resources made from it.
_OWN_FACTS = (*_STATES, "client_reference", *_TIMES, SENT, OVER, ETAG)
_QUOTE = '"'

_IDS = 1_000
"""Attempts to find a free id for a new resource; a schema may allow few."""


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
        self._store = ProviderStore(ledger.database, document.name)
        self._find = ResourceFinder(document, self._store, playbook, is_stocked=is_stocked)
        self._seed = seed
        self._compose = AnswerComposer(document, playbook, seed=seed)
        self._reads = ProviderReads(
            document, self._store, playbook, find=self._find, compose=self._compose
        )

    def answer(self, call: Call) -> ProviderAnswer:
        """Perform the call, once per idempotency key.

        Raises:
            RequestRefused: the call is refused and has no effect.
        """
        operation, key = call.operation, call.cause.idempotency_key
        if key is None or operation.kind is OperationKind.READ:
            body = self._perform(call)
            return ProviderAnswer(operation.success_status, body, headers=self._headers(call))
        kept = self._store.note("answer", operation.operation_id, key)
        if kept is None:
            body = self._perform(call)
            given = GivenAnswer(call.fingerprint, operation.success_status, body)
            self._store.keep_note("answer", operation.operation_id, key, given)
            return ProviderAnswer(given.status, body, headers=self._headers(call))
        given = GivenAnswer(*kept)
        if given.fingerprint != call.fingerprint:
            detail = f"Idempotency-Key {key!r} came before with another request."
            raise RequestRefused(operation.refusal(422, 409), detail)
        return ProviderAnswer(given.status, given.body, replayed=True, headers=self._headers(call))

    def _headers(self, call: Call) -> dict[str, str]:
        """Return the headers with the name and the version that a contract reads."""
        wanted = self._document.answered_headers(call.operation)
        found = self._read(call) if call.operation.kind is OperationKind.READ else self._made(call)
        if found is None:
            return {}
        headers = dict.fromkeys(wanted, found.resource_id)
        if self._document.version_name(found.operation) == ETAG:
            headers["ETag"] = self._version(found)
        return headers

    def _made(self, call: Call) -> Resource | None:
        key = call.cause.idempotency_key
        # Newest first: without a key the newest one is from this call.
        made = self._store.resources_of(call.operation.operation_id)
        own = (r for r in made if key is None or r.facts.get(SENT, {}).get(KEY) == key)
        return next(own, None)

    def _read(self, call: Call) -> Resource | None:
        with suppress(RequestRefused):
            if "client_reference" in call.arguments:
                return self._find.by_reference(call, None)
            return self._find.by_repeated_inputs(call) or self._find.at_place(call)
        return None

    def _version(self, resource: Resource) -> str:
        named = self._document.version_name(resource.operation)
        return str(resource.facts.get(named or ETAG, '"1"'))

    def move_version(self, call: Call) -> None:
        """Change the version of the resource that a conditional cancel names, as others would."""
        with suppress(RequestRefused):
            resource = self._find.to_cancel(call)
            named = self._document.version_name(resource.operation)
            if named is not None:
                moved = {named: f"{self._version(resource).rstrip(_QUOTE)}+{_QUOTE}"}
                self._store.keep(replace(resource, facts={**resource.facts, **moved}))

    def _perform(self, call: Call) -> Any:
        match call.operation.kind:
            case OperationKind.CREATE:
                return self._create(call)
            case OperationKind.UPDATE:
                resource = self._changed(call)
                if resource is None and self._makes(call.operation):
                    return self._create(call)
                if resource is None:
                    return self._change_unknown(call, "update")
                state = self._named_state(call.operation)
                values = self._document.given_values(call.operation, call.arguments)
                facts = {**resource.facts, **values, **state}
                body = self._compose.projected(call, call.operation.answer_schema, facts)
                body = self._compose.behaved(call, resource.facts, body)
                self._store.keep(
                    replace(
                        resource, facts={**facts, **self._answered_values(call.operation, body)}
                    )
                )
                self._record(call, "update", resource.named, resource.resource_id, call.cause, None)
                return body
            case OperationKind.CANCEL:
                return self._cancel(call)
            case OperationKind.READ:
                return self._reads.answer(call)

    def _create(self, call: Call) -> Any:
        operation = call.operation
        named = self._document.resource_ids.get(operation.operation_id, UNNAMED)
        parents = self._find.parents(call)
        values = self._document.given_values(call.operation, call.arguments)
        value = values.get(self._document.chosen_name(call.operation) or named)
        existing = self._store.resource(named, str(value)) if is_id(value) else None
        if existing is None:
            reference = call.cause.client_reference
            known = self._store.resource_by_reference(reference, named) if reference else None
            if known:
                detail = (
                    f"client_reference {reference!r} already names {named} {known.resource_id}."
                )
                raise RequestRefused(call.operation.refusal(409, 422), detail)
        else:
            self._refuse_taken_name(call, existing)
        identity = self._identity(call, named, is_known=existing is not None)
        resource_id = str(identity)
        body = self._new_body(call, named, identity, parents)
        if call.surcharge != 1 and isinstance(body, dict):
            raise_money(body, call.surcharge)
        inherited = {k: v for k, v in parents.items() if k not in _OWN_FACTS}
        values = self._document.given_values(operation, call.arguments)
        facts = {**inherited, **values, named: identity, **self._answered_values(operation, body)}
        facts[SENT] = {**call.arguments, KEY: call.cause.idempotency_key}
        reference = existing.client_reference if existing else call.cause.client_reference
        self._store.keep(Resource(named, resource_id, operation.operation_id, reference, facts))
        self._store.forget_cancellations(resource_id)
        answered = self._answered_values(operation, body)
        for name in self._document.known_ids & set(answered) - {named, *call.arguments}:
            # An upload also creates a file: later calls can name the ids that a create returns.
            self._reads.remember(name, [answered])
        self._record(call, "create", named, resource_id, call.cause, find_money(answered))
        return body

    def _new_body(
        self, call: Call, named: str, identity: str | int, parents: Mapping[str, Any]
    ) -> Any:
        schema = call.operation.answer_schema
        if schema is None:
            return None
        values = self._document.given_values(call.operation, call.arguments)
        hints = {**values, **{k: v for k, v in parents.items() if k not in _OWN_FACTS}}
        thing = self._document.resource_schema(call.operation)
        hints |= self._offered_price(thing, hints, parents)
        hints |= {named: identity, **self._compose.state(thing, is_cancelled=False)}
        hints |= self._named_state(call.operation)
        if call.cause.client_reference:
            hints["client_reference"] = call.cause.client_reference
        inputs, wrapper = self._document.input_names, self._document.wrapper(call.operation)

        def omit(name: str) -> bool:
            if name in hints or name in wrapper:
                return False
            return name in inputs or name.startswith(NEGATIVE_PREFIXES)

        body = self._compose.filled(call, schema, hints, omit=omit)
        return self._compose.behaved(call, parents, body)

    def _answered_values(self, operation: ServedOperation, body: Any) -> JsonObject:
        answered: JsonObject = body if isinstance(body, dict) else {}
        for step in self._document.wrapper(operation):
            inner = answered.get(step)
            answered = inner if isinstance(inner, dict) else {}
        return answered

    def _identity(self, call: Call, named: str, *, is_known: bool) -> str | int:
        """Return the id of a new resource: chosen by the caller, already named, or new."""
        given = self._document.chosen_name(call.operation)
        values = self._document.given_values(call.operation, call.arguments)
        given = given if given in values else None
        # A stocked provider's resources are unknown: an id in the path names an existing one.
        if is_known or (self._is_stocked and named in call.operation.path_names):
            given = given or named
        identity: str | int
        identity = self._fresh_id(call, named) if given is None else values[given]
        return identity

    def _refuse_taken_name(self, call: Call, existing: Resource) -> None:
        """Refuse to make under a chosen name what the same operation has made, and still stands."""
        operation = call.operation
        is_chosen = operation.method == "post" and self._document.chosen_name(operation) is not None
        is_own = existing.operation == operation.operation_id
        if is_chosen and is_own and not existing.facts.get(OVER):
            detail = f"There is {existing.named} {existing.resource_id!r} already."
            raise RequestRefused(operation.refusal(409, 422), detail)

    def _fresh_id(self, call: Call, named: str) -> str | int:
        count = self._store.count()
        for number in range(count, count + _IDS):
            made = self._made_id(
                call.operation, f"{self._seed}:{call.operation.operation_id}:{number}"
            )
            if self._store.resource(named, str(made)) is None:
                return made
        raise UnsupportedSchema(f"every {named!r} that its schema allows is taken already")

    def _made_id(self, operation: ServedOperation, seed: str) -> str | int:
        named = self._document.resource_ids.get(operation.operation_id, UNNAMED)
        *preferred, least = self._document.id_schemas(operation)
        for schema in preferred:
            with suppress(UnsupportedSchema):
                return self._compose.make.identifier(schema, Random(seed), name=named)
        return self._compose.make.identifier(least, Random(seed), name=named)

    def _offered_price(
        self, schema: Schema, hints: Mapping[str, Any], parents: Mapping[str, Any]
    ) -> JsonObject:
        offered = find_money(parents)
        if offered is None:
            return {}
        properties = self._document.book.properties(schema)
        wanted = {k: v for k, v in properties.items() if k in MONEY_NAMES and k not in hints}
        book = self._document.book
        return {
            name: offered.to_json()
            if book.type_of(book.resolve(inner)) == "object"
            else float(offered.amount)
            for name, inner in wanted.items()
        }

    def _changed(self, call: Call) -> Resource | None:
        place = call.operation.place
        if place is None or place.position is Position.ALL or self._makes(call.operation):
            return self._find.named(call)
        return self._find.at_place(call)

    def _makes(self, operation: ServedOperation) -> bool:
        place = operation.place
        if operation.method == "put":
            return place is None or not self._document.makers_at(place.things)
        if operation.method != "post":
            return place is None
        return place is None or place.position is not Position.ONE

    def _change_unknown(self, call: Call, kind: EffectKind) -> Any:
        """Answer a change of a resource that the provider holds and that no call created here."""
        body = self._compose.projected(call, call.operation.answer_schema, call.arguments)
        body = self._compose.behaved(call, {}, body)
        self._record(call, kind, *self._resource_name(call), call.cause, None)
        return body

    def _resource_name(self, call: Call) -> tuple[str, str]:
        """Return the name and the id of a call's resource, as far as the call gives them."""
        place = call.operation.place
        if place is None:
            return UNNAMED, ""
        return place.parameter or place.label, str(call.arguments.get(place.parameter, ""))

    def _named_state(self, operation: ServedOperation) -> JsonObject:
        """Return the state in an operation's name: expense_approve_report gives "approved"."""
        thing = self._document.resource_schema(operation)
        name = self._document.state_name(thing)
        states = self._document.book.resolve(
            self._document.book.properties(thing).get(name, {})
        ).get("enum", [])
        stems = [word[:5] for word in operation.operation_id.split("_") if len(word) > 3]
        reached = (state for stem in stems for state in states if str(state).startswith(stem))
        state = next(reached, None)
        return {name: state} if state else {}

    def _cancel(self, call: Call) -> Any:
        operation = call.operation
        is_paired = bool(self._document.cancelled_by(operation))
        resource = self._find.to_cancel(call) if is_paired else self._find.unpaired(call)
        if resource is None:
            return self._change_unknown(call, "cancel")
        earlier = self._store.note("cancellation", operation.operation_id, resource.resource_id)
        if earlier is not None:
            operation = call.operation
            gone = next((status for status in (404, 410) if operation.declares(status)), None)
            if operation.method == "delete" and call.cause.idempotency_key is None and gone:
                raise RequestRefused(gone, f"{operation.path} is deleted already.")
            return earlier["body"]
        sent = next((v for n, v in call.arguments.items() if n.lower() == VERSION), "*")
        is_versioned = self._document.version_name(resource.operation) is not None
        if is_versioned and sent not in ("*", self._version(resource)):
            raise RequestRefused(412, "It has changed: the version that was sent is not its own.")
        body = self._cancelled_body(call, resource)
        body = self._compose.behaved(call, resource.facts, body)
        resource_id, named = resource.resource_id, resource.named
        made_by = self._document.operation(resource.operation)
        state = self._state_after(call, resource, made_by) if made_by else {}
        if self._is_whole(call, resource):
            state[OVER] = True
        self._store.keep(replace(resource, facts={**resource.facts, **state}))
        cancel = call.operation.operation_id
        self._store.keep_note("cancellation", cancel, resource_id, {"body": body})
        made: list[str | None] = [
            o.operation_id for o in self._document.cancelled_by(call.operation)
        ]
        # A cancel without a pair, such as a DELETE, ends everything of the resource.
        for operation_id in made or [None]:
            self._ledger.mark_cancelled(
                provider=self._document.name, resource_id=resource_id, operation=operation_id
            )
        cause = replace(call.cause, client_reference=resource.client_reference)
        refund = find_money(resource.facts)
        self._record(call, "cancel", named, resource_id, cause, refund)
        return body

    def _state_after(
        self, call: Call, resource: Resource, operation: ServedOperation
    ) -> JsonObject:
        """Return the state that the request sets, else the cancelled or ended one.

        A cancel that only reverts a later change leaves the resource live.
        """
        schema = self._document.resource_schema(operation)
        name = self._document.state_name(schema)
        values = self._document.given_values(call.operation, call.arguments)
        if name in values and name in self._document.book.properties(schema):
            return {name: values[name]}
        is_whole = self._is_whole(call, resource)
        state = self._compose.state(schema, is_cancelled=is_whole)
        return state or (self._compose.ended_state(schema) if is_whole else {})

    def _is_whole(self, call: Call, resource: Resource) -> bool:
        makers = [
            operation.operation_id for operation in self._document.cancelled_by(call.operation)
        ]
        return not makers or resource.operation in makers

    def _cancelled_body(self, call: Call, resource: Resource) -> Any:
        schema = call.operation.answer_schema
        if schema is None:
            return None
        hints = {**resource.facts, "cancelled_at": call.at}
        hints |= self._state_after(call, resource, call.operation)
        paid = find_money(resource.facts)
        if paid:
            hints |= {"refund": paid.to_json(), "refund_amount": float(paid.amount)}
        unknown = {"reason", "client_reference", "refund", "refund_amount"}

        def omit(name: str) -> bool:
            return name not in hints and (name in unknown or name.startswith(FAILURE_PREFIXES))

        return self._compose.filled(call, schema, hints, omit=omit)

    def _record(
        self,
        call: Call,
        kind: EffectKind,
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
        )
