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
    ProviderStore,
    Resource,
    ResourceFinder,
)
from orchestrator.sandbox.served_operations import OperationKind, Position, ServedOperation, is_id
from orchestrator.sandbox.served_schemas import JsonObject
from orchestrator.sandbox.synthesis import UnsupportedSchema

_COUNTS = ("total", "count", "total_count", "total_results", "total_items", "result_count")

_PAGES = ("page", "pages", "current_page", "total_pages", "page_count", "last_page")


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


# Facts of a resource that are not inherited by resources made from it.
_OWN_FACTS = frozenset({"status", "state", "client_reference", SENT, OVER, ETAG})
_OWN_FACTS |= {"created_at", "cancelled_at", "expires_at"}
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
        self._book = document.book
        self._playbook = playbook
        self._is_stocked = is_stocked
        self._ledger = ledger
        self._store = ProviderStore(ledger.database, document.name)
        self._find = ResourceFinder(document, self._store, playbook, is_stocked=is_stocked)
        self._seed = seed
        self._compose = AnswerComposer(document, playbook, seed=seed)

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
            given = (call.fingerprint, operation.success_status, body)
            self._store.keep_note("answer", operation.operation_id, key, given)
            return ProviderAnswer(operation.success_status, body, headers=self._headers(call))
        fingerprint, status, body = kept
        if fingerprint != call.fingerprint:
            detail = f"Idempotency-Key {key!r} came before with another request."
            raise RequestRefused(operation.refusal(422, 409), detail)
        return ProviderAnswer(status, body, replayed=True, headers=self._headers(call))

    def _headers(self, call: Call) -> dict[str, str]:
        wanted = self._document.answered_headers(call.operation)
        if call.operation.kind is OperationKind.READ:
            found = None
            with suppress(RequestRefused):
                if "client_reference" in call.arguments:
                    found = self._find.by_reference(call, None)
                else:
                    found = self._find.by_repeated_inputs(call) or self._find.at_place(call)
        else:
            key = call.cause.idempotency_key
            # Newest first: without a key the newest one is from this call.
            made = self._store.resources(operation=call.operation.operation_id)
            own = (r for r in made if key is None or r.facts.get(SENT, {}).get(KEY) == key)
            found = next(own, None)
        if found is None:
            return {}
        headers = dict.fromkeys(wanted, found.resource_id)
        if self._document.version_name(found.operation) == ETAG:
            headers["ETag"] = self._version(found)
        return headers

    def _version(self, resource: Resource) -> str:
        named = self._document.version_name(resource.operation)
        return str(resource.facts.get(named or ETAG, '"1"'))

    def move_version(self, call: Call) -> None:
        """Change the version of the resource that a conditional cancel names, as others would."""
        with suppress(RequestRefused):
            resource = self._find.to_cancel(call)
            named = self._document.version_name(resource.operation)
            if named is not None:
                moved = {named: self._version(resource).rstrip('"') + '+"'}
                self._store.keep(replace(resource, facts={**resource.facts, **moved}))

    def _perform(self, call: Call) -> Any:
        match call.operation.kind:
            case OperationKind.CREATE:
                return self._create(call)
            case OperationKind.UPDATE:
                return self._update(call)
            case OperationKind.CANCEL:
                return self._cancel(call)
            case OperationKind.READ:
                if call.operation.list_name is not None:
                    return self._list(call)
                return self._read_one(call)

    def _create(self, call: Call) -> Any:
        operation, reference = call.operation, call.cause.client_reference
        named = self._document.resource_ids.get(operation.operation_id, UNNAMED)
        parents = self._find.parents(call)
        values = self._document.given_values(operation, call.arguments)
        chosen = self._document.chosen_name(operation)
        value = values.get(chosen or named)
        existing = self._store.resource(named, str(value)) if is_id(value) else None
        if existing is None:
            known = self._store.resource_by_reference(reference, named) if reference else None
            if known:
                detail = f"client_reference {reference!r} already names {named}"
                detail += f" {known.resource_id}."
                raise RequestRefused(operation.refusal(409, 422), detail)
        elif operation.method == "post" and chosen is not None:
            # The same operation made it under this name, and it still stands.
            is_own = existing.operation == operation.operation_id
            if is_own and not existing.facts.get(OVER):
                detail = f"There is {existing.named} {existing.resource_id!r} already."
                raise RequestRefused(operation.refusal(409, 422), detail)
        given = chosen if chosen in values else None
        # A stocked provider's resources are unknown: an id in the path names an existing one.
        if existing is not None or (self._is_stocked and named in operation.path_names):
            given = given or named
        identity = self._fresh_id(operation, named) if given is None else values[given]
        inherited = {k: v for k, v in parents.items() if k not in _OWN_FACTS}
        body = None
        if operation.answer_schema is not None:
            body = self._new_body(call, {**values, **inherited}, parents, {named: identity})
        if call.surcharge != 1 and isinstance(body, dict):
            raise_money(body, call.surcharge)
        answered = self._answered_values(operation, body)
        facts = {**inherited, **values, named: identity, **answered}
        facts[SENT] = {**call.arguments, KEY: call.cause.idempotency_key}
        if existing is not None:
            reference = existing.client_reference
        resource_id = str(identity)
        self._store.keep(Resource(named, resource_id, operation.operation_id, reference, facts))
        self._store.forget_cancellations(resource_id)
        for name in self._document.known_ids & set(answered) - {named, *call.arguments}:
            # An upload also creates a file: later calls can name the ids that a create returns.
            self._remember(name, [answered])
        self._record(call, "create", named, resource_id, call.cause, find_money(answered))
        return body

    def _new_body(
        self,
        call: Call,
        hints: JsonObject,
        parents: Mapping[str, Any],
        identity: Mapping[str, str | int],
    ) -> Any:
        thing = self._document.resource_schema(call.operation)
        offered = find_money(parents)
        for name, inner in self._book.properties(thing).items() if offered else ():
            if offered and name in MONEY_NAMES and name not in hints:
                is_pair = self._book.type_of(self._book.resolve(inner)) == "object"
                hints = {**hints, name: offered.to_json() if is_pair else float(offered.amount)}
        hints = {**hints, **identity, **self._compose.state(thing, is_cancelled=False)}
        hints |= self._named_state(call.operation)
        if call.cause.client_reference:
            hints["client_reference"] = call.cause.client_reference
        inputs, wrapper = self._document.input_names, self._document.wrapper(call.operation)

        def omit(name: str) -> bool:
            if name in hints or name in wrapper:
                return False
            return name in inputs or name.startswith(NEGATIVE_PREFIXES)

        body = self._compose.filled(call, call.operation.answer_schema or {}, hints, omit=omit)
        return self._compose.behaved(call, parents, body)

    def _answered_values(self, operation: ServedOperation, body: Any) -> JsonObject:
        answered: JsonObject = body if isinstance(body, dict) else {}
        for step in self._document.wrapper(operation):
            inner = answered.get(step)
            answered = inner if isinstance(inner, dict) else {}
        return answered

    def _fresh_id(self, operation: ServedOperation, named: str) -> str | int:
        count = self._store.count()
        for number in range(count, count + _IDS):
            seed = f"{self._seed}:{operation.operation_id}:{number}"
            made = self._made_id(operation, named, seed)
            if self._store.resource(named, str(made)) is None:
                return made
        raise UnsupportedSchema(f"every {named!r} that its schema allows is taken already")

    def _made_id(self, operation: ServedOperation, named: str, seed: str) -> str | int:
        *preferred, least = self._document.id_schemas[operation.operation_id]
        for schema in preferred:
            with suppress(UnsupportedSchema):
                return self._compose.make.identifier(schema, Random(seed), name=named)
        return self._compose.make.identifier(least, Random(seed), name=named)

    def _update(self, call: Call) -> Any:
        operation, place = call.operation, call.operation.place
        if operation.method == "put":
            makes = place is None or not self._document.makers_at(place.things)
        else:
            is_one = place is not None and place.position is Position.ONE
            makes = not is_one if operation.method == "post" else place is None
        if place is None or place.position is Position.ALL or makes:
            resource = self._find.named(call)
        else:
            resource = self._find.at_place(call)
        if resource is None:
            return self._create(call) if makes else self._change_unknown(call, "update")
        values = self._document.given_values(operation, call.arguments)
        facts = {**resource.facts, **values, **self._named_state(operation)}
        body = self._compose.projected(call, operation.answer_schema, facts)
        body = self._compose.behaved(call, resource.facts, body)
        facts |= self._answered_values(operation, body)
        self._store.keep(replace(resource, facts=facts))
        self._record(call, "update", resource.named, resource.resource_id, call.cause, None)
        return body

    def _change_unknown(self, call: Call, kind: EffectKind) -> Any:
        """Answer a change of a resource that the provider holds and that no call created here."""
        body = self._compose.projected(call, call.operation.answer_schema, call.arguments)
        body = self._compose.behaved(call, {}, body)
        named, resource_id = UNNAMED, ""
        place = call.operation.place
        if place is not None:
            named = place.parameter or place.label
            resource_id = str(call.arguments.get(place.parameter, ""))
        self._record(call, kind, named, resource_id, call.cause, None)
        return body

    def _named_state(self, operation: ServedOperation) -> JsonObject:
        """Return the state in an operation's name: expense_approve_report gives "approved"."""
        thing = self._document.resource_schema(operation)
        name = self._document.state_name(thing)
        schema = self._book.resolve(self._book.properties(thing).get(name, {}))
        stems = [word[:5] for word in operation.operation_id.split("_") if len(word) > 3]
        for stem in stems:
            for state in schema.get("enum", []):
                if str(state).startswith(stem):
                    return {name: state} if state else {}
        return {}

    def _cancel(self, call: Call) -> Any:
        operation, name = call.operation, call.operation.operation_id
        makers = [maker.operation_id for maker in self._document.cancelled_by(operation)]
        resource = self._find.to_cancel(call) if makers else self._find.unpaired(call)
        if resource is None:
            return self._change_unknown(call, "cancel")
        resource_id, facts = resource.resource_id, resource.facts
        earlier = self._store.note("cancellation", name, resource_id)
        if earlier is not None:
            # A second DELETE without a key is refused by providers that declare 404 or 410.
            gone = next((status for status in (404, 410) if operation.declares(status)), None)
            if operation.method == "delete" and call.cause.idempotency_key is None and gone:
                raise RequestRefused(gone, f"{operation.path} is deleted already.")
            return earlier["body"]
        sent = next((v for n, v in call.arguments.items() if n.lower() == VERSION), "*")
        is_versioned = self._document.version_name(resource.operation) is not None
        if is_versioned and sent not in ("*", self._version(resource)):
            raise RequestRefused(412, "It has changed: the version that was sent is not its own.")
        # A cancel that only reverts a later change leaves the resource live.
        is_whole = not makers or resource.operation in makers
        body = None
        if operation.answer_schema is not None:
            state = self._state_after(call, operation, is_whole=is_whole)
            body = self._cancelled_body(call, {**facts, "cancelled_at": call.at, **state})
        body = self._compose.behaved(call, facts, body)
        made_by = self._document.operation(resource.operation)
        state = self._state_after(call, made_by, is_whole=is_whole) if made_by else {}
        if is_whole:
            state[OVER] = True
        self._store.keep(replace(resource, facts={**facts, **state}))
        self._store.keep_note("cancellation", name, resource_id, {"body": body})
        # A cancel without a pair, such as a DELETE, ends everything of the resource.
        ended: list[str | None] = [*makers] or [None]
        for maker in ended:
            self._ledger.mark_cancelled(
                provider=self._document.name, resource_id=resource_id, operation=maker
            )
        cause = replace(call.cause, client_reference=resource.client_reference)
        self._record(call, "cancel", resource.named, resource_id, cause, find_money(facts))
        return body

    def _state_after(self, call: Call, operation: ServedOperation, *, is_whole: bool) -> JsonObject:
        """Return the state that the request sets, else the cancelled or ended one."""
        schema = self._document.resource_schema(operation)
        name = self._document.state_name(schema)
        values = self._document.given_values(call.operation, call.arguments)
        if name in values and name in self._book.properties(schema):
            return {name: values[name]}
        state = self._compose.state(schema, is_cancelled=is_whole)
        return state or (self._compose.ended_state(schema) if is_whole else {})

    def _cancelled_body(self, call: Call, hints: JsonObject) -> Any:
        paid = find_money(hints)
        if paid:
            hints |= {"refund": paid.to_json(), "refund_amount": float(paid.amount)}
        unknown = {"reason", "client_reference", "refund", "refund_amount"}

        def omit(name: str) -> bool:
            return name not in hints and (name in unknown or name.startswith(FAILURE_PREFIXES))

        return self._compose.filled(call, call.operation.answer_schema or {}, hints, omit=omit)

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

    def _read_one(self, call: Call) -> Any:
        operation, schema = call.operation, call.operation.answer_schema
        if schema is None:
            return None
        facts: Mapping[str, Any]
        sent = self._find.by_repeated_inputs(call)
        if sent is not None:
            facts = sent.facts
        elif "client_reference" in call.arguments:
            made = self._document.resource_ids.values()
            named = next((n for n in self._book.properties(schema) if n in made), None)
            facts = self._find.by_reference(call, named).facts
        else:
            facts = self._find.parents(call)
            found, place = self._find.at_place(call), operation.place
            if place is not None:
                facts |= self._store.offer_of_id(str(call.arguments.get(place.parameter)))
            facts |= found.facts if found else {}
        # A cancelled resource is not returned if the answer has no state to show that.
        thing = self._document.resource_schema(operation)
        if facts.get(OVER) and not self._compose.state(thing, is_cancelled=True):
            raise RequestRefused(operation.refusal(404, 410), "It was cancelled.")
        body = self._compose.projected(call, schema, {**call.arguments, **facts})
        return self._compose.behaved(call, facts, body)

    def _list(self, call: Call) -> Any:
        operation = call.operation
        item_schema, schema = operation.item_schema or {}, operation.answer_schema or {}
        parents = self._find.parents(call)
        draft = Draft(call=call, parents=parents, rng=self._compose.rng(call))
        named = self._document.listed_resource(operation)
        offered = self._document.offered_ids(operation)
        names = [named] if named else offered
        things = [thing for name in names for thing in self._playbook.standing.get(name, ())]
        standing = self._matching(call, things)
        if named:
            draft.items = [*self._stored(call, named), *standing]
        elif standing or any(self._playbook.standing.get(name) for name in offered):
            draft.items = standing
        else:
            draft.items = self._offers(call, parents)
        self._compose.behave(draft)
        if not named:
            draft.items.sort(key=_price)
        properties = self._book.properties(item_schema)
        resolved = {name: self._book.resolve(inner) for name, inner in properties.items()}
        ranks = {name: inner["enum"] for name, inner in resolved.items() if "enum" in inner}
        draft.items = keep(draft.items, call.arguments, ranks=ranks)
        answer = self._book.resolve(schema)
        found = self._book.properties(answer).get(operation.list_name or "", answer)
        most: int | None = self._book.resolve(found).get("maxItems")
        draft.items = draft.items[:most]
        # So that later calls can name them.
        for name in offered:
            self._remember(name, draft.items)
        if not operation.list_name:
            return draft.items
        listed = {operation.list_name: draft.items}
        counts = dict.fromkeys(_COUNTS, len(draft.items))
        hints = {**call.arguments, **counts, **draft.body, **listed}
        body = self._compose.filled(call, schema, hints, omit=lambda other: "cursor" in other)
        around = {key: _counted(value, len(draft.items)) for key, value in body.items()}
        return {**around, **draft.body, **listed}

    def _stored(self, call: Call, named: str) -> list[JsonObject]:
        try:
            sent = self._find.by_repeated_inputs(call)
        except RequestRefused:
            return []
        place = self._document.kind_place(call.operation)
        makers = self._document.makers_at(place.things) if place else []
        if sent is not None:
            found = [sent]
        elif not makers:
            found = self._store.resources(property=named)
        else:
            made = [
                r for maker in makers for r in self._store.resources(operation=maker.operation_id)
            ]
            parents = {n: call.arguments.get(n) for n in call.operation.path_names}
            found = [r for r in made if _is_under(parents, r.facts)]
        can_say = bool(self._compose.state(call.operation.item_schema or {}, is_cancelled=True))
        return self._matching(call, [r.facts for r in found if can_say or not r.facts.get(OVER)])

    def _matching(self, call: Call, things: list[JsonObject]) -> list[JsonObject]:
        schema = call.operation.item_schema or {}
        items = [self._compose.projected(call, schema, facts) for facts in things]
        asks_for_span = {"start_date", "end_date"} <= call.operation.input_names
        return match(items, call.arguments, is_span=asks_for_span)

    def _offers(self, call: Call, parents: Mapping[str, Any]) -> list[JsonObject]:
        schema = call.operation.item_schema or {}
        rng = self._compose.rng(call)
        shuffled = {k: rng.sample(v, len(v)) for k, v in self._playbook.words.items()}
        known = {**parents, **call.arguments}
        offers = []
        properties = self._book.properties(schema)
        fullest = max((len(shuffled[name]) for name in shuffled if name in properties), default=0)
        for number in range(max(rng.randint(3, 5), fullest)):
            # In turn, so that items of one answer have distinct names and each name occurs.
            words = {name: choices[number % len(choices)] for name, choices in shuffled.items()}
            salt = Random(f"{rng.random()}")
            offers.append(self._compose.filled(call, schema, {**words, **known}, rng=salt))
        return offers

    def _remember(self, name: str, items: list[JsonObject]) -> None:
        for item in items:
            if is_id(item.get(name)):
                self._store.keep_note("offer", name, str(item[name]), item)
