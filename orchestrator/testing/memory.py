"""Credentials, personal fields and what a store keeps, in memory; unchecked origins."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from orchestrator.adapters.storage.personal_values import KeptValue, VaultContents, commitment
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import CatalogNotFound, ObservationMissing, PiiMissing, SecretMissing
from orchestrator.core.pii import Handle
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.routing.learning.trace import RouteRecord


class MemorySecrets:
    """Secrets from a mapping: `MemorySecrets({"payments__token": "t0ken"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def get(self, name: str) -> str:
        """The value of a secret.

        Raises:
            SecretMissing: it was not given.
        """
        try:
            return self._values[name]
        except KeyError:
            raise SecretMissing(name, "it in MemorySecrets") from None


class MemoryPii:
    """A vault in memory: `MemoryPii({"traveler_id": "T-1009"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._key = secrets.token_bytes(32)
        self._held = VaultContents()
        for field, value in (values or {}).items():
            self.put(field, value)

    def get(self, field: str) -> str:
        """The owner's current value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
        """
        kept = self._held.current(field)
        if kept is None:
            raise PiiMissing((field,))
        return kept.value

    def current(self, field: str) -> Handle | None:
        """The handle of the owner's current value; None when there is none."""
        kept = self._held.current(field)
        return None if kept is None else kept.handle

    def find(self, handle: Handle) -> KeptValue | None:
        """The value that a pinned handle means; None when it is gone."""
        return self._held.find(handle)

    def put(self, field: str, value: str) -> None:
        """Make this the owner's current value; calls that were prepared before keep theirs.

        Raises:
            UsageError: the name cannot be a field's, or the value is empty.
        """
        self._held.put(field, value, key=self._key, at=datetime.now(UTC))

    def bring(self, scope: str, values: Mapping[str, str], *, claim: str) -> dict[str, Handle]:
        """Keep the values that a request brings for its mission; their handles."""
        self._held.bring(values, scope=scope, claim=claim, key=self._key, at=datetime.now(UTC))
        return {
            field: Handle(field, commitment(self._key, scope=scope, field=field, value=value))
            for field, value in values.items()
        }

    def purge(self, *missions: str) -> tuple[str, ...]:
        """Remove all that these missions brought; the names of the fields."""
        return self._held.purge(missions)

    def fields(self) -> tuple[str, ...]:
        """The names of the fields of which the owner has a value, sorted."""
        return self._held.fields()

    def forget(self, field: str) -> bool:
        """Remove all values that the owner has or had of a field; nothing when there is none."""
        return self._held.forget(field)


class MadeUpSecrets:
    """A made-up value for every credential that a document declares."""

    def get(self, name: str) -> str:
        """The value of a secret: the same again and again, and plainly none."""
        return f"made-up-{name}"


class MemoryGrants:
    """Used grants and calls that are taken back, in memory: for one process, and gone with it."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}
        self._taken_back: set[str] = set()

    def take_back(self, call_id: str) -> None:
        """From now on nothing may send this call."""
        self._taken_back.add(call_id)

    def is_taken_back(self, call_id: str) -> bool:
        """Whether that was noted."""
        return call_id in self._taken_back

    def claim(self, digest: str, user: str) -> str | None:
        """Who used this grant before; None when nobody had, and `user` does now."""
        before = self._users.get(digest)
        self._users.setdefault(digest, user)
        return before


class TrustedOrigins:
    """Takes every call for its mission's: for activities that run without a server."""

    async def check(self, call: PrepareInput | ToolCall, tool: Tool) -> None:
        """Nothing: there is nobody to ask."""


class MemoryCatalogs:
    """Catalogs in memory: compiled as they were given."""

    lost: bool = False
    """Whether none of them is found for now."""

    def __init__(self) -> None:
        self._kept: dict[str, Catalog] = {}

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """Keep a catalog."""
        self._kept[catalog.digest] = catalog

    def get(self, digest: str) -> Catalog:
        """The catalog of that digest.

        Raises:
            CatalogNotFound: none is kept, or they are lost.
        """
        if self.lost or digest not in self._kept:
            raise CatalogNotFound(digest)
        return self._kept[digest]

    def reread(self, digest: str) -> Catalog:
        """The same: there is nothing else to read."""
        return self.get(digest)


class MemoryTraces:
    """Records of selections in memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], RouteRecord] = {}

    def record(self, record: RouteRecord) -> None:
        """Keep a record."""
        self._kept[record.mission_id, record.leg_id, record.step] = record

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        """Join what a step called in the end to its record."""
        key = (mission_id, leg_id, step)
        if key in self._kept:
            self._kept[key] = self._kept[key].model_copy(update={"called": ((tool,),)})

    def records(self) -> list[RouteRecord]:
        """All of them, in order."""
        return list(self._kept.values())


class MemoryObservations:
    """A store of observations in memory, which can be lost and full."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, bytes]] = {}
        self.lost = False
        """While it is, nothing of it is there."""
        self.is_full = False
        """While it is, nothing more is taken."""

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Keep a piece; whether it was not there."""
        if self.is_full:
            raise OSError(28, "No space left on device")
        return self._kept.setdefault(mission_id, {}).setdefault(key, piece) is piece

    def get(self, mission_id: str, key: str) -> bytes:
        """A piece that was kept.

        Raises:
            ObservationMissing: it was not, or is lost.
        """
        if self.lost or key not in self._kept.get(mission_id, {}):
            raise ObservationMissing(mission_id, "memory")
        return self._kept[mission_id][key]

    def missions(self) -> Mapping[str, datetime]:
        """Those of which anything is kept."""
        return {mission_id: datetime.now(UTC) for mission_id in self._kept}

    def purge(self, *mission_ids: str) -> None:
        """Remove all that is kept of these missions."""
        for mission_id in mission_ids:
            self._kept.pop(mission_id, None)
