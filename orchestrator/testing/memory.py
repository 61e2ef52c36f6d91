"""Stores in memory: secrets, personal values, grants, catalogs, traces and observations."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from orchestrator.adapters.storage.personal_values import OWNER, KeptValue, commitment
from orchestrator.adapters.storage.protocols import A_DAY, Claim, SentCall, StandingSpend
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.core.errors import (
    CatalogNotFound,
    GrantRefused,
    ObservationMissing,
    PiiMissing,
    SecretMissing,
)
from orchestrator.core.pii import Handle, check_entry
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.saga.ledger import Ledger, Obligation, ObligationState


class MemorySecrets:
    """Secrets from a mapping: `MemorySecrets({"payments__token": "t0ken"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def get(self, name: str) -> str:
        """Return a secret.

        Raises:
            SecretMissing: the mapping does not contain it.
        """
        try:
            return self._values[name]
        except KeyError:
            raise SecretMissing(name, "it in MemorySecrets") from None


class MemoryPii:
    """A vault in memory: `MemoryPii({"traveler_id": "T-1009"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._key = secrets.token_bytes(32)
        self._held: dict[Handle, KeptValue] = {}
        for field, value in (values or {}).items():
            self.put(field, value)

    def get(self, field: str) -> str:
        """Return the owner's current value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
        """
        handle = self.current(field)
        if handle is None:
            raise PiiMissing((field,))
        return self._held[handle].value

    def current(self, field: str) -> Handle | None:
        """Return the handle of the owner's current value; None without one."""
        held = (h for h, kept in self._held.items() if kept.is_current and h.field == field)
        return next(held, None)

    def find(self, handle: Handle) -> KeptValue | None:
        """Return the value of a pinned handle; None if it was removed."""
        return self._held.get(handle)

    def put(self, field: str, value: str) -> None:
        """Make this the owner's current value; prepared calls keep their pinned value.

        Raises:
            UsageError: the name is not valid, or the value is empty.
        """
        before, now = self.current(field), datetime.now(UTC)
        if before is not None:
            superseded = self._held[before].model_copy(update={"superseded_at": now})
            self._held[before] = superseded
        self._keep(OWNER, field, value)

    def bring(self, scope: str, values: Mapping[str, str], *, claim: str) -> dict[str, Handle]:
        """Store the values that a request brings for its mission; return their handles."""
        return {field: self._keep(scope, field, value) for field, value in values.items()}

    def purge(self, *missions: str) -> tuple[str, ...]:
        """Remove the values of these missions; return the names of the fields."""
        theirs = [h for h, kept in self._held.items() if kept.scope and kept.scope in missions]
        for handle in theirs:
            del self._held[handle]
        return tuple(sorted({handle.field for handle in theirs}))

    def fields(self) -> tuple[str, ...]:
        """Return the names of the owner's fields, sorted."""
        return tuple(sorted(h.field for h, kept in self._held.items() if kept.is_current))

    def forget(self, field: str) -> bool:
        """Remove every value of an owner's field; False if there was none."""
        own = [h for h, k in self._held.items() if k.scope == OWNER and h.field == field]
        for handle in own:
            del self._held[handle]
        return bool(own)

    def _keep(self, scope: str, field: str, value: str) -> Handle:
        check_entry(field, value)
        version = commitment(self._key, scope=scope, field=field, value=value)
        now = datetime.now(UTC)
        kept = KeptValue(field=field, version=version, value=value, scope=scope, stored_at=now)
        self._held[kept.handle] = kept
        return kept.handle


class MadeUpSecrets:
    """Fictitious values for all credentials that documents declare."""

    def get(self, name: str) -> str:
        """Return a value that is equal for equal names."""
        return f"made-up-{name}"


class MemoryGrants:
    """Used grants, sent calls and cancelled calls, in memory."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}
        self.sent: dict[str, tuple[SentCall, datetime]] = {}
        """The sent calls by id, each with the time of its last note."""
        self._cancelled: set[str] = set()
        self._concluded: set[str] = set()
        self._owners: dict[str, str] = {}
        self._spent: dict[tuple[str, str], tuple[Money, datetime]] = {}
        """Costs of calls under standing approvals, by rule and call."""

    def send(self, call: SentCall) -> Claim:
        """See `GrantBook.send`."""
        for rule in call.spend.rules if call.spend is not None else ():
            assert call.spend is not None
            if (rule.name, call.call_id) in self._spent:
                continue
            if (full := self.refusal(StandingSpend((rule,), call.spend.price))) is not None:
                raise GrantRefused(call.call_id, full)
            self._spent[rule.name, call.call_id] = call.spend.price, datetime.now(UTC)
        used = tuple(self._users.get(digest) for digest in call.grants)
        for digest in call.grants:
            self._users.setdefault(digest, call.user)
        if call.ledger == Ledger():
            return Claim(used)
        if call.call_id in self.sent:
            before, _ = self.sent[call.call_id]
            known = Ledger() if call.call_id in self._concluded else before.ledger
            return Claim(used, before.user, known)
        self.sent[call.call_id] = (call, datetime.now(UTC))
        return Claim(used)

    def refusal(self, spend: StandingSpend) -> str | None:
        """See `GrantBook.refusal`."""
        since = datetime.now(UTC) - A_DAY
        for rule in spend.rules:
            own = [spent for (name, _), spent in self._spent.items() if name == rule.name]
            in_a_day = sum((money.amount for money, at in own if at > since), Decimal(0))
            total = sum((money.amount for money, _ in own), Decimal(0))
            if (full := rule.refusal(spend.price, total, in_a_day)) is not None:
                return full
        return None

    def settle(self, call_id: str, ledger: Ledger) -> None:
        """See `GrantBook.settle`."""
        for made in ledger.obligations:
            for key in [key for key in self._spent if key[1] == call_id]:
                if made.state is ObligationState.VOID:
                    del self._spent[key]
                elif made.price is not None:
                    self._spent[key] = made.price, self._spent[key][1]
        if call_id in self.sent:
            call, _ = self.sent[call_id]
            self.sent[call_id] = (call._replace(ledger=ledger), datetime.now(UTC))
        for name, mission_id in ledger.freed_ids():
            if mission_id in ("", self._owners.get(name)):
                self._owners.pop(name, None)
        for name, mission_id in ledger.claimed_ids():
            self._owners.setdefault(name, mission_id)

    def owner_of(self, obligation: Obligation) -> str:
        """See `GrantBook.owner_of`."""
        owner = self._owners.get(obligation.answered_name, "")
        return owner if owner != obligation.mission_id else ""

    def note_cancel(self, call_id: str) -> None:
        """See `GrantBook.note_cancel`."""
        self._cancelled.add(call_id)

    def is_cancelled(self, call_id: str) -> bool:
        """See `GrantBook.is_cancelled`."""
        return call_id in self._cancelled

    def ledger(self, mission_id: str, *, concluded: bool = False) -> Ledger:
        """See `GrantBook.ledger`."""
        over = set() if concluded else self._concluded
        return Ledger.united(c.ledger for c in self._of(mission_id) if c.call_id not in over)

    def unfinished(self, *, after: str, most: int) -> Sequence[str]:
        """See `GrantBook.unfinished`."""
        open_calls = [c for c, _ in self.sent.values() if c.call_id not in self._concluded]
        live = {c.mission_id for c in open_calls if c.ledger.live()}
        return sorted(one for one in live if one > after)[:most]

    def last_noted(self, mission_id: str) -> datetime | None:
        """See `GrantBook.last_noted`."""
        times = [at for call, at in self.sent.values() if call.mission_id == mission_id]
        return max(times, default=None)

    def conclude(self, mission_id: str, *, but: Sequence[str] = (), durable: bool = False) -> None:
        """See `GrantBook.conclude`."""
        self._concluded |= {call.call_id for call in self._of(mission_id)} - set(but)

    def _of(self, mission_id: str) -> list[SentCall]:
        return [call for call, _ in self.sent.values() if call.mission_id == mission_id]


class MemoryCatalogs:
    """Catalogs in memory."""

    lost: bool = False
    """True while no catalog can be found."""

    def __init__(self) -> None:
        self._kept: dict[str, Catalog] = {}

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """Store a catalog."""
        self._kept[catalog.digest] = catalog

    def get(self, digest: str) -> Catalog:
        """Return the catalog of that digest.

        Raises:
            CatalogNotFound: the catalog is not stored, or `lost` is set.
        """
        if self.lost or digest not in self._kept:
            raise CatalogNotFound(digest)
        return self._kept[digest]

    def in_memory(self, digest: str) -> Catalog | None:
        """Return the catalog of that digest, unless they are lost."""
        return None if self.lost else self._kept.get(digest)

    def reread(self, digest: str) -> Catalog:
        """Return the catalog of that digest."""
        return self.get(digest)


class MemoryTraces:
    """Records of selections in memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], RouteRecord] = {}

    def record(self, record: RouteRecord) -> None:
        """Store a record."""
        self._kept[record.mission_id, record.leg_id, record.step] = record

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        """Add the called tool to the record of its step."""
        key = (mission_id, leg_id, step)
        if key in self._kept:
            self._kept[key] = self._kept[key].model_copy(update={"called": ((tool,),)})

    def records(self) -> list[RouteRecord]:
        """Return all records, in order."""
        return list(self._kept.values())


class MemoryObservations:
    """A store of observations in memory that can be lost or full."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, bytes]] = {}
        self.lost = False
        """True while nothing can be found."""
        self.is_full = False
        """True while nothing can be stored."""

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Store a piece and return True if it was new."""
        if self.is_full:
            raise OSError(28, "No space left on device")
        return self._kept.setdefault(mission_id, {}).setdefault(key, piece) is piece

    def get(self, mission_id: str, key: str) -> bytes:
        """Return a stored piece.

        Raises:
            ObservationMissing: the piece was not stored, or is lost.
        """
        if self.lost or key not in self._kept.get(mission_id, {}):
            raise ObservationMissing(mission_id, "memory")
        return self._kept[mission_id][key]

    def missions(self) -> Mapping[str, datetime]:
        """Return the missions with stored pieces."""
        return {mission_id: datetime.now(UTC) for mission_id in self._kept}

    def purge(self, *mission_ids: str) -> None:
        """Remove the pieces of these missions."""
        for mission_id in mission_ids:
            self._kept.pop(mission_id, None)
