"""What a vault of personal values holds, and every change of it: versions, missions, retention.

Nothing is overwritten. A value is kept under its version, a keyed commitment to the field, the
value and the mission that it belongs to; the owner's values belong to no mission, and one of each
field is the current one.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from pydantic import BaseModel, Field

from orchestrator.core.pii import VERSION_LENGTH, Handle, check_entry
from orchestrator.core.record import Record

OWNER = ""
"""The scope of values that belong to the vault's owner and to no mission."""


class KeptValue(Record):
    """One value of a personal field, and for whom it is kept."""

    field: str
    version: str
    value: str
    scope: str = Field(default=OWNER, description="the mission that brought it; the owner's: none")
    stored_at: datetime
    superseded_at: datetime | None = Field(
        default=None, description="of the owner's: since when another one is the current one"
    )
    claims: tuple[str, ...] = Field(
        default=(), description="of a mission's: the requests that brought it, by their digests"
    )

    @property
    def handle(self) -> Handle:
        """The handle that means this value and no other."""
        return Handle(self.field, self.version)


def commitment(key: bytes, *, scope: str, field: str, value: str) -> str:
    """The version of a value: the same for the same value, and telling nothing of it.

    Args:
        key: the vault's; without it nobody can try values until one fits.
        scope: the mission that the value belongs to, or OWNER.
        field: its name.
        value: what it is.
    """
    derived = hmac.digest(key, b"orchestrator: versions of personal values", hashlib.sha256)
    covered = json.dumps([scope, field, value]).encode()
    return hmac.digest(derived, covered, hashlib.sha256).hex()[:VERSION_LENGTH]


class VaultContents(BaseModel):
    """All that one vault holds; changed in place, and written whole."""

    layout: int = 2
    values: list[KeptValue] = Field(default_factory=list)

    # -- what is there ----------------------------------------------------------------------------

    def current(self, field: str) -> KeptValue | None:
        """The owner's current value of a field."""
        return next((kept for kept in self._currents() if kept.field == field), None)

    def fields(self) -> tuple[str, ...]:
        """The names of the owner's fields, sorted."""
        return tuple(sorted(kept.field for kept in self._currents()))

    def find(self, handle: Handle) -> KeptValue | None:
        """The value that a pinned handle means, whomever it belongs to."""
        return next((kept for kept in self.values if kept.handle == handle), None)

    def missions(self) -> dict[str, tuple[KeptValue, ...]]:
        """The values that missions brought, by the missions' ids."""
        found: dict[str, tuple[KeptValue, ...]] = {}
        for kept in self.values:
            if kept.scope != OWNER:
                found[kept.scope] = (*found.get(kept.scope, ()), kept)
        return found

    def superseded(self) -> tuple[KeptValue, ...]:
        """The owner's values that were once current."""
        return tuple(k for k in self.values if k.scope == OWNER and k.superseded_at is not None)

    def _currents(self) -> Iterable[KeptValue]:
        return (k for k in self.values if k.scope == OWNER and k.superseded_at is None)

    # -- what changes it --------------------------------------------------------------------------

    def put(self, field: str, value: str, *, key: bytes, at: datetime) -> None:
        """Make this the owner's current value; the one before stays for the calls that pinned it.

        Raises:
            UsageError: the name cannot be a field's, or the value is empty.
        """
        check_entry(field, value)
        version = commitment(key, scope=OWNER, field=field, value=value)
        before = self.current(field)
        if before is not None and before.version == version:
            return
        if before is not None:
            self._replace(before, before.model_copy(update={"superseded_at": at}))
        self._drop(lambda kept: kept.handle == Handle(field, version))
        self.values.append(KeptValue(field=field, version=version, value=value, stored_at=at))

    def bring(
        self, values: Mapping[str, str], *, scope: str, claim: str, key: bytes, at: datetime
    ) -> None:
        """Keep the values that a request brings for its mission; repeated, it changes nothing."""
        for field, value in values.items():
            check_entry(field, value)
            version = commitment(key, scope=scope, field=field, value=value)
            known = self.find(Handle(field, version))
            if known is None:
                kept = KeptValue(
                    field=field,
                    version=version,
                    value=value,
                    scope=scope,
                    stored_at=at,
                    claims=(claim,),
                )
                self.values.append(kept)
            elif claim not in known.claims:
                self._replace(known, known.model_copy(update={"claims": (*known.claims, claim)}))

    def release(self, *, scope: str, claim: str) -> None:
        """Take back what a refused request brought; what another one brought too stays."""
        for kept in [k for k in self.values if k.scope == scope and claim in k.claims]:
            claims = tuple(one for one in kept.claims if one != claim)
            if claims:
                self._replace(kept, kept.model_copy(update={"claims": claims}))
            else:
                self.values.remove(kept)

    def forget(self, field: str) -> bool:
        """Remove every value that the owner has or had of a field; whether there was one."""
        return self._drop(lambda kept: kept.scope == OWNER and kept.field == field)

    def purge(self, missions: Collection[str]) -> tuple[str, ...]:
        """Remove all that these missions brought; the names of the fields."""
        fields = {kept.field for kept in self.values if kept.scope in missions}
        self._drop(lambda kept: kept.scope != OWNER and kept.scope in missions)
        return tuple(sorted(fields))

    def drop_superseded(self, until: datetime) -> int:
        """Remove the owner's values that were superseded before a moment; how many."""
        before = len(self.values)
        self._drop(
            lambda k: k.scope == OWNER and k.superseded_at is not None and k.superseded_at < until
        )
        return before - len(self.values)

    def _drop(self, unwanted: Callable[[KeptValue], bool]) -> bool:
        kept = [value for value in self.values if not unwanted(value)]
        changed = len(kept) != len(self.values)
        self.values[:] = kept
        return changed

    def _replace(self, before: KeptValue, after: KeptValue) -> None:
        self.values[self.values.index(before)] = after


def contents_of_flat(flat: Mapping[str, str], *, key: bytes, at: datetime) -> VaultContents:
    """The contents of a vault of the first layout, which held one value of each field."""
    contents = VaultContents()
    for field, value in flat.items():
        contents.put(field, value, key=key, at=at)
    return contents
