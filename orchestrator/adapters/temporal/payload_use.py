"""References to large payloads that are stored outside of histories."""

from collections.abc import Mapping
from typing import Final

from google.protobuf import json_format
from temporalio.api.common.v1 import Payload
from temporalio.api.sdk.v1 import ExternalStorageReference
from temporalio.converter import (
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
)

from orchestrator.core.errors import PayloadLost

_REFERENCE: Final = ExternalStorageReference.DESCRIPTOR.full_name.encode()


class PayloadReferences:
    """Resolves references with the stores that a process has."""

    def __init__(self, storage: ExternalStorage | None) -> None:
        """Store the drivers of the external storage; None means no drivers."""
        drivers = () if storage is None else storage.drivers
        self._drivers: Mapping[str, StorageDriver] = {one.name(): one for one in drivers}

    async def fetched(self, payload: Payload) -> Payload:
        """Return the payload that a reference points to; any other payload unchanged.

        Raises:
            PayloadLost: this process does not have the store.
        """
        if not is_reference(payload):
            return payload
        named = json_format.Parse(payload.data, ExternalStorageReference())
        driver = self._drivers.get(named.driver_name)
        if driver is None:
            raise PayloadLost(named.driver_name, "no such store is set here")
        claim = StorageDriverClaim(dict(named.claim_data))
        return (await driver.retrieve(StorageDriverRetrieveContext(), [claim]))[0]


def is_reference(payload: Payload) -> bool:
    """Return True if the payload is a reference to one that is stored elsewhere."""
    return payload.metadata.get("messageType") == _REFERENCE
