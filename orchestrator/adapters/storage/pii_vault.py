"""What a vault of personal fields does for those who use it; it alone tells their values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from orchestrator.adapters.storage.personal_values import KeptValue, VaultContents
from orchestrator.core.pii import Handle


class PiiVault(Protocol):
    """Personal values by field and version, of an owner and of missions.

    All of it may be called from several threads and processes at once. Each method raises
    UsageError where the key does not open the vault, and StoreUnavailable while it is away.
    """

    def get(self, field: str) -> str:
        """The owner's current value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
        """
        ...

    def current(self, field: str) -> Handle | None:
        """The handle of the owner's current value; None when there is none."""
        ...

    def find(self, handle: Handle) -> KeptValue | None:
        """The value that a pinned handle means, whomever it belongs to; None when it is gone."""
        ...

    def fields(self) -> tuple[str, ...]:
        """The names of the fields of which the owner has a value, sorted."""
        ...

    def contents(self) -> VaultContents:
        """All there is, as a copy."""
        ...

    def put(self, field: str, value: str) -> None:
        """Make this the owner's current value; calls that were prepared before keep theirs.

        Raises:
            UsageError: the name cannot be a field's, or the value is empty.
        """
        ...

    def forget(self, field: str) -> bool:
        """Remove all values that the owner has or had of a field; whether there was one."""
        ...

    def handles_of(self, scope: str, values: Mapping[str, str]) -> dict[str, Handle]:
        """The handles that these values have once they are kept for a mission; keeps nothing."""
        ...

    def bring(self, scope: str, values: Mapping[str, str], *, claim: str) -> None:
        """Keep the values that a request brings for its mission; repeated, it changes nothing."""
        ...

    def release(self, scope: str, *, claim: str) -> None:
        """Take back what a refused request brought; what another one brought too stays."""
        ...

    def purge(self, *missions: str) -> tuple[str, ...]:
        """Remove all that these missions brought; the names of the fields."""
        ...

    def drop_superseded(self, until: datetime) -> int:
        """Remove the owner's values that were superseded before a moment; how many."""
        ...
