"""Restore whole messages from stored pieces of a leg, and store new pieces.

A message refers to all pieces by keys in its history. If a worker dies while it stores a piece, the
piece is either stored, and will be stored again with the same content, or it is missing, and the
activity is retried.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar, cast

from pydantic import JsonValue, TypeAdapter
from temporalio import activity

from orchestrator.activities.boundary import from_store, missing_state_error, store_deadline
from orchestrator.adapters.storage.protocols import (
    SAGA_WORKFLOW,
    ObservationStore,
    observation_missing,
    unkept,
)
from orchestrator.core.errors import StateMissing, StoreUnavailable
from orchestrator.core.pii import is_handle
from orchestrator.core.record import BodyRef, JsonObject
from orchestrator.messages import names
from orchestrator.messages.step import KeptMessage
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.planning.trimming import MOST_CHARACTERS, trim_body
from orchestrator.routing.selection import Selection
from orchestrator.saga.outcome import ToolOutcome

LONGEST_INLINE: Final = 600
"""Size of a body as JSON, in bytes, up to which a history holds all of it.

A longer body is stored, and the history has a reference and a shortened form of about this length.
"""
LONGEST_WHOLE: Final = 4_000
"""Size up to which a history holds a body, in bytes, for a leg that has stored nothing else."""
_IN_MEMORY: Final = 64_000_000
"""Bytes of pieces cached in memory, so that a long leg is not read again at each step."""
_OBSERVATIONS: Final = TypeAdapter(tuple[Observation, ...])
_FACTS: Final = TypeAdapter(tuple[Fact, ...])

T = TypeVar("T", bound=PrepareInput)
Restored = TypeVar("Restored", bound=PrepareInput | StepContext)
Seen = TypeVar("Seen", Fact, Observation)
_Node = tuple[str, tuple[Observation, ...]]
"""The key of the earlier observations, and the observations of this node."""


class NothingKept:
    """A store that stores nothing, for activities without a real one."""

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Raise OSError as a failing disk does: nothing can be stored."""
        raise OSError("no store of observations was given to these activities")

    def get(self, mission_id: str, key: str) -> bytes:
        """Raise ObservationMissing: nothing is stored."""
        raise observation_missing(mission_id, "any store: these activities were given none")

    def missions(self) -> Mapping[str, datetime]:
        """Return no missions."""
        return {}

    def purge(self, *mission_ids: str) -> None:
        """Do nothing."""


class KeptMessages:
    """Reads and stores the pieces that messages refer to, in a store of observations."""

    def __init__(self, store: ObservationStore) -> None:
        self._store = store
        self._pieces: OrderedDict[tuple[str, str], tuple[Any, int]] = OrderedDict()
        """Nodes and messages by mission and key."""
        self._noted = ""
        """The last saga whose workflow was noted, by which retention finds the workflow."""
        self._held = 0

    async def context(self, message: StepContext | KeptMessage) -> StepContext:
        """Return the whole context that a message refers to."""
        if isinstance(message, StepContext):
            return message.model_copy(update=await self._bodies(message))
        return await asyncio.to_thread(self._restored, message, StepContext)

    async def keep(self, message: StepContext | KeptMessage, selection: Selection) -> Selection:
        """Store the observations of a message, and the selection made from them.

        Returns:
            The stored selection: the first attempt's, for both history and planner.
        """
        if not isinstance(message, KeptMessage) or not message.keep_as:
            return selection
        return await asyncio.to_thread(self._keep, message, selection)

    async def prepared(self, message: T | KeptMessage, kind: type[T]) -> T:
        """Return the whole call to prepare, with the facts that may name its arguments."""
        if not isinstance(message, KeptMessage):
            whole = message.model_copy(update=await self._bodies(message))
            facts = facts_naming(whole.arguments, whole.facts)
            return whole.model_copy(update={"facts": facts})
        return await asyncio.to_thread(self._restored, message, kind)

    async def _bodies(self, message: StepContext | PrepareInput) -> dict[str, object]:
        facts, seen, mission_id = message.facts, message.observations, message.mission_id
        if not any([*(one.body_ref for one in facts), *(one.body_ref for one in seen)]):
            return {}

        def read() -> dict[str, object]:
            return {
                "facts": tuple(self._whole(one, mission_id) for one in facts),
                "observations": tuple(self._whole(one, mission_id) for one in seen),
            }

        return await asyncio.to_thread(read)

    async def learn(self, message: KeptMessage) -> KeptMessage:
        """Store the terms of a message that later messages of its kind refer to.

        Returns:
            The same message, with a reference to the stored terms.
        """
        if message.new_terms is None:
            return message
        await asyncio.to_thread(self._fields, message)
        return message.model_copy(update={"new_terms": None})

    async def shortened(self, outcome: ToolOutcome, call: ToolCall) -> ToolOutcome:
        """Return the outcome with a long body stored, and a short form in its place.

        If the body cannot be stored, it stays in the outcome, because a provider's effect must not
        be lost for a failed write. It also stays if the leg's earlier observations are missing
        here: otherwise no worker would have both.
        """
        text = json.dumps(outcome.body).encode()
        if len(text) <= (LONGEST_INLINE if call.past else LONGEST_WHOLE):
            return outcome
        reference = BodyRef(key=hashlib.sha256(text).hexdigest(), size=len(text))
        until = store_deadline()
        try:
            if call.past:
                await from_store(until, self._store.get, call.mission_id, call.past)
            await from_store(until, self._put, call.mission_id, reference.key, text)
        except (OSError, StateMissing):
            return outcome
        short = trim_body(outcome.body, most=LONGEST_INLINE)
        if len(json.dumps(short)) > MOST_CHARACTERS:  # made of names, which are never cut
            short = None
        return outcome.model_copy(update={"body": short, "body_ref": reference})

    @activity.defn(name=names.READ_KEPT)
    async def read_kept(self, message: KeptMessage | StepContext | PrepareInput) -> None:
        """Check that all pieces of a message can be read here, and that more can be stored.

        Raises:
            ApplicationError: a piece is missing; retried until a person has fixed that.
        """
        try:
            if isinstance(message, KeptMessage):
                await asyncio.to_thread(self._check, message)
            else:
                await KeptMessages(self._store)._bodies(message)
        except StateMissing as error:
            raise missing_state_error(error) from error

    # -- a message --------------------------------------------------------------------------------

    def _restored(self, message: KeptMessage, kind: type[Restored]) -> Restored:
        made = kind.model_validate(self._fields(message))
        facts = tuple(self._whole(fact, message.of_mission) for fact in made.facts)
        if (arguments := getattr(made, "arguments", None)) is not None:  # of a call
            facts = facts_naming(arguments, facts)
        seen = self._all(message, made.observations)
        whole = made.model_copy(update={"facts": facts, "observations": seen})
        return cast("Restored", whole)

    def _fields(self, message: KeptMessage) -> dict[str, Any]:
        terms: dict[str, Any] | None = message.new_terms
        at = (message.of_mission, message.terms)
        if (held := self._pieces.get(at)) is not None:
            terms = held[0]
        elif terms is not None:
            piece = json.dumps(terms).encode()
            self._put(message.of_mission, message.terms, piece)
            self._hold(at, terms, len(piece))
        else:
            piece = self._store.get(message.of_mission, message.terms)
            terms = json.loads(piece)
            self._hold(at, terms, len(piece))
        return {**terms, **message.changes}

    def _all(self, message: KeptMessage, own: tuple[Observation, ...]) -> tuple[Observation, ...]:
        fresh = tuple(self._whole(one, message.of_mission) for one in own)
        parts = [fresh]
        key = message.past
        while key:
            key, seen = self._node(message.of_mission, key)
            parts.append(seen)
        return tuple(one for part in reversed(parts) for one in part)

    def _check(self, message: KeptMessage) -> None:
        """Read all pieces of a message from the store: the cache would hide missing ones.

        A check that skips a piece would let its leg retry at once, again and again.
        """
        afresh = KeptMessages(self._store)
        fields = afresh._fields(message)
        for fact in _FACTS.validate_python(fields.get("facts", [])):
            afresh._whole(fact, message.of_mission)
        afresh._all(message, _OBSERVATIONS.validate_python(fields["observations"]))
        if message.keep_as:
            self._put(message.of_mission, f"{message.keep_as}.room", b"")

    def _keep(self, message: KeptMessage, selection: Selection) -> Selection:
        node = {
            "before": message.past,
            "seen": message.changes["observations"],
            "selection": selection.model_dump(mode="json"),
        }
        if self._put(message.of_mission, message.keep_as, json.dumps(node).encode()):
            return selection
        return Selection.model_validate(
            json.loads(self._store.get(message.of_mission, message.keep_as))["selection"]
        )

    def _put(self, mission_id: str, key: str, piece: bytes) -> bool:
        try:
            if mission_id != self._noted and names.may_be_saga(mission_id):
                owner = activity.info().workflow_id or ""
                if names.mission_of(owner) != mission_id:
                    self._store.put(mission_id, SAGA_WORKFLOW, owner.encode())
                self._noted = mission_id
            return self._store.put(mission_id, key, piece)
        except (StoreUnavailable, OSError) as error:
            raise unkept(mission_id, error) from error

    # -- stored pieces ----------------------------------------------------------------------------

    def _node(self, mission_id: str, key: str) -> _Node:
        if (held := self._pieces.get((mission_id, key))) is not None:
            known: _Node = held[0]
            return known
        piece = self._store.get(mission_id, key)
        kept = json.loads(piece)
        seen = _OBSERVATIONS.validate_python(kept["seen"])
        size = len(piece) + sum(one.body_ref.size for one in seen if one.body_ref)
        node = (str(kept["before"]), tuple(self._whole(one, mission_id) for one in seen))
        self._hold((mission_id, key), node, size)
        return node

    def _hold(self, at: tuple[str, str], piece: Any, size: int) -> None:
        if at not in self._pieces:
            self._pieces[at] = (piece, size)
            self._held += size
        while self._held > _IN_MEMORY and len(self._pieces) > 1:
            _, (_, freed) = self._pieces.popitem(last=False)
            self._held -= freed

    def _whole(self, seen: Seen, mission_id: str) -> Seen:
        if seen.body_ref is None:
            return seen
        body = json.loads(self._store.get(mission_id, seen.body_ref.key))
        return seen.model_copy(update={"body": body, "body_ref": None})


_LONGEST_ID = 200


def facts_naming(arguments: JsonObject, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Return the facts that may name a call's arguments: no long text, no boolean is an id."""
    wanted = {
        value
        for value in _scalars(arguments)
        if (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and not is_handle(value))
    }
    return tuple(fact for fact in facts if not wanted.isdisjoint(_scalars(fact.body)))


def _scalars(value: JsonValue) -> Iterator[str | int | float | None]:
    if isinstance(value, dict):
        for held in value.values():
            yield from _scalars(held)
    elif isinstance(value, list):
        for held in value:
            yield from _scalars(held)
    else:
        yield value
