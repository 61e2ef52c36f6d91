"""The vault of a run: changed while missions use it, and remembered by the kit value by value."""

import asyncio

from orchestrator.client.stores import open_vault
from orchestrator.core.errors import StateLacking
from orchestrator.runtime.devserver import SANDBOX_PROFILE, Stack

_PAUSE_S = 0.3
_CHANGED = ("traveler_id", "payment_method_id", "employee_id")
"""Fields whose values are free; the others have a format."""


class VaultChanges:
    """Gives the owner's fields new values, and knows which handle stood for which."""

    def __init__(self, stack: Stack) -> None:
        """Take the installation; what its vault holds now is remembered first."""
        self._vault = open_vault(stack.settings)
        self._changes = 0
        self.values: dict[str, str] = {}
        """By handle, with its version: what each was when it was written."""
        for field in self._vault.fields():
            self._note(field, self._vault.get(field))

    async def change(self) -> bool:
        """One field gets another value."""
        field = _CHANGED[self._changes % len(_CHANGED)]
        self._changes += 1
        value = f"{SANDBOX_PROFILE[field].partition('-')[0]}-{10_000 + self._changes}"
        while True:
            try:
                await asyncio.to_thread(self._put, field, value)
            except StateLacking:
                # It may have kept the value and not have said so: what it keeps, the kit knows.
                await asyncio.sleep(_PAUSE_S)
            else:
                return True

    def _put(self, field: str, value: str) -> None:
        self._vault.put(field, value)
        self._note(field, value)

    def _note(self, field: str, value: str) -> None:
        self.values[str(self._vault.current(field))] = value
