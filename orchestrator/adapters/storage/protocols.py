"""Interfaces of the stores that workers use, and the errors of those that lack something.

Methods may be called from several threads and processes at once, and again after a crash.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol

from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.policy import StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.errors import (
    OBSERVATIONS_UNKEPT,
    CatalogNotFound,
    ObservationMissing,
    StateMissing,
    StoreUnavailable,
)
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation


class CatalogStore(Protocol):
    """Compiled catalogs by digest, so that a mission continues with the one it began with."""

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """Store a catalog, for as long as the named mission may need it.

        Putting it again repairs a lost or damaged one.

        Raises:
            UsageError: a tool comes from no document, so it could not be called.
            StoreUnavailable: nothing can be stored now.
        """

    def get(self, digest: str) -> Catalog:
        """Return the catalog of a digest; the last few stay in memory.

        Raises:
            CatalogNotFound: none is stored.
            CatalogNotFound: as CatalogDamaged: the content under that name has another digest.
            StoreUnavailable: the store cannot be read now.
        """

    def in_memory(self, digest: str) -> Catalog | None:
        """Return the catalog of a digest without any I/O; None if it is not in memory."""

    def reread(self, digest: str) -> Catalog:
        """Return the catalog from the store and not from memory; raises as `get` does."""


A_DAY: Final = timedelta(hours=24)
"""The period that `per_day` of a standing approval counts."""


class StandingSpend(NamedTuple):
    """The price of a call, and the standing approvals under which it is counted."""

    rules: tuple[StandingApproval, ...]
    price: Money


class SentCall(NamedTuple):
    """A call that is about to be sent."""

    call_id: str
    mission_id: str
    user: str
    """The activity execution that sends it."""
    grants: tuple[str, ...]
    """Digests of the grants that it uses up."""
    ledger: Ledger
    """The obligations that it may create or cancel; empty if it only reads."""
    spend: StandingSpend | None = None
    """Set for a call under standing approvals that count."""
    at: datetime | None = None
    """By the server's clock; None: by this machine's."""


class Claim(NamedTuple):
    """The state before a call was to be sent; nothing of it is changed."""

    used_by: tuple[str | None, ...]
    """The user of each grant; None if it was unused until now and this call has it."""
    sent_by: str | None = None
    """The execution that sent the call; None if it was not sent before, and is noted now."""
    ledger: Ledger = Ledger()
    """The obligations noted when the call was sent, or its outcome."""


class GrantBook(Protocol):
    """Used grants, sent calls with their obligations, and cancelled calls.

    Notes are on disk before the call is sent, and outlive histories: a server may be restored from
    an older copy, a mission reset or deleted. Each method raises StoreUnavailable if nothing can be
    read or noted now.
    """

    def send(self, call: SentCall) -> Claim:
        """Use up the grants of a call, note its obligations and count it, in one transaction.

        Raises:
            GrantRefused: a standing approval has no room for it; nothing is noted.
        """

    def refusal(self, spend: StandingSpend) -> str | None:
        """Return why standing approvals have no room for one more call; None if they have room."""

    def settle(self, call_id: str, ledger: Ledger) -> None:
        """Note the outcome of a call that was noted before; else do nothing.

        Under standing approvals its charge counts from now on; a void call is no longer counted.
        The ids in its answer belong to the first mission that received them, until the resource
        that they name is cancelled.
        """

    def owner_of(self, obligation: Obligation) -> str:
        """Return the other mission to which the ids of an obligation belong; '' if none."""

    def note_cancel(self, call_id: str) -> None:
        """Note that a call is being cancelled: from now on no execution may send it."""

    def is_cancelled(self, call_id: str) -> bool:
        """Return True if the call was noted as being cancelled."""

    def ledger(self, mission_id: str, *, concluded: bool = False) -> Ledger:
        """Return the noted obligations of the calls of a mission or a saga.

        With `concluded`, those of concluded calls too, of all missions that had this id.
        """

    def unfinished(self, *, after: str, most: int) -> Sequence[str]:
        """Return up to `most` ids of missions with noted, unconcluded calls, in order after one."""

    def last_noted(self, mission_id: str) -> datetime | None:
        """Return when a call of the mission, or that it runs, was last noted; None if never."""

    def note_running(self, mission_ids: Sequence[str]) -> None:
        """Note that these missions run now; `last_noted` then returns the time of this note."""

    def conclude(self, mission_id: str, *, but: Sequence[str] = (), durable: bool = False) -> None:
        """Note that the effects of a mission's calls stand, or that others handle them.

        Calls in `but` are not concluded. A durable note outlives a loss of power.
        """


SAGA_WORKFLOW: Final = "saga's workflow"
"""The key under which the observations of a saga name the workflow that the saga belongs to."""


class ObservationStore(Protocol):
    """Pieces of bytes, each of one mission under a key that is never used for another content.

    Histories name them by key.
    """

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Store a piece; a key that exists retains its content.

        Returns:
            False if the key existed.

        Raises:
            StoreUnavailable, OSError: nothing can be stored now.
        """

    def get(self, mission_id: str, key: str) -> bytes:
        """Return a stored piece.

        Raises:
            ObservationMissing: it was stored elsewhere, was removed, or the store is unavailable.
        """

    def missions(self) -> Mapping[str, datetime]:
        """Return the ids of missions with pieces, and when the last of each was stored."""

    def purge(self, *mission_ids: str) -> None:
        """Remove every piece of these missions; idempotent."""


class RouteTraces(Protocol):
    """Records of selections, by mission, leg and step.

    A record that cannot be written is lost, with a warning: a mission never waits for it or fails.
    """

    def record(self, record: RouteRecord) -> None:
        """Store a record; a retried step replaces its own."""

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        """Add the tool that a step called to the record of its selection."""

    def records(self) -> list[RouteRecord]:
        """Return every record, the oldest first.

        Raises:
            StoreUnavailable: they cannot be read now.
        """


def catalog_missing(digest: str) -> CatalogNotFound:
    """Return the error for a catalog that is not in the store."""
    reason = (
        f"no catalog {digest:.12} is stored where this worker looks; give all workers of a task "
        "queue one store (ORCHESTRATOR_STORE), or the state folder of the worker that kept it "
        "(ORCHESTRATOR_STATE_DIR)"
    )
    return CatalogNotFound(reason, digest=digest)


def observation_missing(mission_id: str, place: str) -> ObservationMissing:
    """Return the error for an observation that is not in this place."""
    return ObservationMissing(
        f"what mission {mission_id} has seen is not in {place}; give this worker the store of the "
        "worker that kept it (ORCHESTRATOR_STORE, or ORCHESTRATOR_STATE_DIR), or stop it and start "
        "one that has it"
    )


def unkept(mission_id: str, error: StoreUnavailable | OSError) -> StateMissing:
    """Return the error for observations that cannot be stored now."""
    why = str(error)
    if isinstance(error, OSError):
        why = f"the state directory: {error.strerror or type(error).__name__}"
    text = f"what mission {mission_id} has seen cannot be kept: {why}"
    return StateMissing(text, code=OBSERVATIONS_UNKEPT)
