"""Messages made whole again: what a leg's workers keep of it is read, and what is new is kept.

A message names all by keys that its history holds. Whatever dies here was either kept, and is kept
again with the same content, or not, and the activity is tried again.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter
from temporalio import activity

from activities.boundary import lacking_error
from orchestrator.adapters.storage.observation_store import ObservationStore
from orchestrator.core.body_ref import BodyRef
from orchestrator.core.errors import (
    ObservationMissing,
    ObservationsUnkept,
    StateLacking,
    StoreUnavailable,
)
from orchestrator.messages import names
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.step import PlanStepInput
from orchestrator.messages.telling_facts import facts_naming
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.planning.trimming import MOST_CHARACTERS, trim_body
from orchestrator.routing.selection import Selection
from orchestrator.saga.outcome import ToolOutcome

LONGEST_INLINE: Final = 600
"""Of a body's JSON in a history, in bytes; a longer one is kept, and its history has a reference
and a form of it that is about as short."""
_IN_MEMORY: Final = 64_000_000
"""Bytes of pieces that are held beside the files, so that a long leg is not read anew each step."""
_OBSERVATIONS: Final = TypeAdapter(tuple[Observation, ...])
_FACTS: Final = TypeAdapter(tuple[Fact, ...])

T = TypeVar("T", bound=PrepareInput)
Seen = TypeVar("Seen", Fact, Observation)
_Node = tuple[str, tuple[Observation, ...]]
"""The key of the observations before these, and these."""


class NothingKept:
    """A store for activities that are given none: whatever a message names is missing."""

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Fail as a disk does: nothing can be kept."""
        raise OSError("no store of observations was given to these activities")

    def get(self, mission_id: str, key: str) -> bytes:
        """Fail: nothing is kept."""
        raise ObservationMissing(mission_id, "any store: these activities were given none")

    def missions(self) -> Mapping[str, datetime]:
        """None."""
        return {}

    def purge(self, *mission_ids: str) -> None:
        """Nothing is there."""


class KeptMessages:
    """Reads and keeps what messages name, in a store of observations."""

    def __init__(self, store: ObservationStore) -> None:
        self._store = store
        self._pieces: OrderedDict[tuple[str, str], tuple[Any, int]] = OrderedDict()
        """By mission and key: nodes, and what messages name in the place of saying it again."""
        self._held = 0

    async def context(self, message: StepContext | KeptMessage) -> StepContext:
        """The step that a message is about, whole."""
        if isinstance(message, StepContext):
            return message
        return await asyncio.to_thread(self._context, message)

    async def keep(self, message: StepContext | KeptMessage, selection: Selection) -> Selection:
        """Keep the observations that came with a message, and what was selected by them.

        Returns:
            The selection that is kept: of several attempts the first one's, which history and the
            planner are told alike.
        """
        if not isinstance(message, KeptMessage) or not message.keep_as:
            return selection
        return await asyncio.to_thread(self._keep, message, selection)

    async def step(self, message: PlanStepInput | KeptMessage) -> PlanStepInput:
        """What a planner gets for one step, whole: the selection is the last that was kept."""
        if isinstance(message, PlanStepInput):
            return message
        context = await self.context(message)
        selection = await asyncio.to_thread(self._selection, message.of_mission, message.past)
        return PlanStepInput(context=context, selection=selection)

    async def prepared(self, message: T | KeptMessage, kind: type[T]) -> T:
        """The call that a message wants prepared, whole; what other legs found is looked through.

        Args:
            message: as it came.
            kind: PrepareInput, or what has its fields.
        """
        if not isinstance(message, KeptMessage):
            return message
        return await asyncio.to_thread(self._prepared, message, kind)

    async def learn(self, message: KeptMessage) -> KeptMessage:
        """Keep what a message brings that later ones of its kind name.

        Returns:
            The same message, which names it.
        """
        if message.new_terms is None:
            return message
        await asyncio.to_thread(self._fields, message)
        return message.model_copy(update={"new_terms": None})

    async def shortened(self, outcome: ToolOutcome, call: ToolCall) -> ToolOutcome:
        """The outcome with a long body kept, and its place taken by a short form.

        Where it cannot be kept, it stays as it is: what a provider did must not be lost by that.
        So it does where what its leg saw before is not: no worker would have both.
        """
        text = json.dumps(outcome.body).encode()
        if len(text) <= LONGEST_INLINE:
            return outcome
        reference = BodyRef(key=hashlib.sha256(text).hexdigest(), size=len(text))
        try:
            await asyncio.to_thread(self._store.get, call.mission_id, call.past)
            await asyncio.to_thread(self._store.put, call.mission_id, reference.key, text)
        except (OSError, StateLacking):
            return outcome
        short = trim_body(outcome.body, most=LONGEST_INLINE)
        if len(json.dumps(short)) > MOST_CHARACTERS:  # it is made of names, which are never cut
            short = None
        return outcome.model_copy(update={"body": short, "body_ref": reference})

    @activity.defn(name=names.READ_KEPT)
    async def read_kept(self, message: KeptMessage) -> None:
        """Find out whether all that a message names can be read here, and more be kept.

        Raises:
            ApplicationError: it cannot; to be tried again, until a person has mended it.
        """
        try:
            await asyncio.to_thread(self._check, message)
        except StateLacking as error:
            raise lacking_error(error) from error

    # -- a message --------------------------------------------------------------------------------

    def _context(self, message: KeptMessage) -> StepContext:
        context = StepContext.model_validate(self._fields(message))
        return context.model_copy(
            update={
                "facts": tuple(self._whole(f, message.of_mission) for f in context.facts),
                "observations": self._all(message, context.observations),
            }
        )

    def _prepared(self, message: KeptMessage, kind: type[T]) -> T:
        wanted = kind.model_validate(self._fields(message))
        facts = tuple(self._whole(fact, message.of_mission) for fact in wanted.facts)
        changes = {
            "facts": facts_naming(wanted.arguments, facts),
            "observations": self._all(message, wanted.observations),
        }
        return wanted.model_copy(update=changes)

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
        """Every observation of the leg, the oldest first."""
        fresh = tuple(self._whole(one, message.of_mission) for one in own)
        parts = [fresh]
        key = message.past
        while key:
            key, seen = self._node(message.of_mission, key)
            parts.append(seen)
        return tuple(one for part in reversed(parts) for one in part)

    def _check(self, message: KeptMessage) -> None:
        """Read all that any activity reads of it, from the store: memory would hide what is lost.

        A look that passes over something lets its leg try again at once, and again.
        """
        afresh = KeptMessages(self._store)
        fields = afresh._fields(message)
        for fact in _FACTS.validate_python(fields["facts"]):
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
        return self._selection(message.of_mission, message.keep_as)

    def _selection(self, mission_id: str, key: str) -> Selection:
        return Selection.model_validate(json.loads(self._store.get(mission_id, key))["selection"])

    def _put(self, mission_id: str, key: str, piece: bytes) -> bool:
        try:
            return self._store.put(mission_id, key, piece)
        except StoreUnavailable as error:
            raise ObservationsUnkept(mission_id, error.place, error.reason) from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ObservationsUnkept(mission_id, "the state directory", reason) from error

    # -- what is kept -----------------------------------------------------------------------------

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
        """Hold what is kept in memory as well; the oldest make room."""
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
