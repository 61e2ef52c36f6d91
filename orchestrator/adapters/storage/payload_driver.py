"""Large payloads, stored outside of histories that refer to them; a driver that uses files.

They are stored as they would have been recorded: encrypted, if payload keys are set. Names are
digests of the content, so that storing is idempotent and survives a crash.
"""

import asyncio
import contextlib
import hashlib
import re
import shutil
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, unquote

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
    StorageDriverWorkflowInfo,
)

from orchestrator.adapters.storage.files import create_file, private_folder
from orchestrator.core.errors import PayloadLost

FOLDER_NAME: Final = "orchestrator-folder"
_KEY: Final = "key"
_UNNAMED: Final = "-"
_WRITTEN: Final = re.compile(r"(?P<namespace>[^/]+)/(?P<workflow>[^/]+)/(?P<sha256>[0-9a-f]{64})")


@dataclass(frozen=True)
class PayloadKey:
    """The key of a payload: its workflow, and the SHA-256 of its content in hex."""

    namespace: str
    workflow_id: str
    sha256: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the key of a reference, or None: anybody may have written the reference."""
        found = _WRITTEN.fullmatch(text)
        if found is None or ".." in text.split("/"):
            return None
        return cls(unquote(found["namespace"]), unquote(found["workflow"]), found["sha256"])

    def __str__(self) -> str:
        return f"{_quoted(self.namespace)}/{_quoted(self.workflow_id)}/{self.sha256}"


class PayloadDriver(StorageDriver):
    """Stores payloads by their keys."""

    def __init__(self, place: str, *, marked: Callable[[PayloadLost], Payload]) -> None:
        self.place = place
        self._marked = marked

    @abstractmethod
    def keep(self, key: PayloadKey, content: bytes) -> None:
        """Store a payload; if it exists its age starts again, or it would be removed too soon.

        Raises:
            PayloadLost: it cannot be stored now.
        """

    @abstractmethod
    def read(self, key: PayloadKey) -> bytes:
        """Return a stored payload.

        Raises:
            PayloadLost: it cannot be read.
        """

    @abstractmethod
    def workflows(self, namespace: str) -> Mapping[str, datetime]:
        """Return the ids of workflows with payloads, and when the last of each was stored."""

    @abstractmethod
    def purge(self, namespace: str, workflow_id: str) -> None:
        """Remove every payload of a workflow; idempotent."""

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Store payloads, and return their references.

        Raises:
            PayloadLost: they cannot be stored now; the SDK retries.
        """
        return [await asyncio.to_thread(self._claim, context, payload) for payload in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Return the payloads, with marks in place of those that cannot be read."""
        return [await asyncio.to_thread(self._found, claim.claim_data) for claim in claims]

    def _claim(self, context: StorageDriverStoreContext, payload: Payload) -> StorageDriverClaim:
        content = payload.SerializeToString(deterministic=True)
        target = context.target
        of_workflow = isinstance(target, StorageDriverWorkflowInfo)
        key = PayloadKey(
            target.namespace if target else _UNNAMED,
            (target.id or _UNNAMED) if target and of_workflow else _UNNAMED,
            hashlib.sha256(content).hexdigest(),
        )
        self.keep(key, content)
        return StorageDriverClaim({_KEY: str(key)})

    def _found(self, claim: Mapping[str, str]) -> Payload:
        key = PayloadKey.parse(claim.get(_KEY, ""))
        if key is None:  # anybody who may write to the server can write any reference
            return self._marked(PayloadLost(self.place, "its reference names no payload"))
        try:
            content = self.read(key)
        except PayloadLost as error:
            return self._marked(error)
        if hashlib.sha256(content).hexdigest() != key.sha256:
            return self._marked(PayloadLost(self.place, "what is kept of it was changed"))
        return Payload.FromString(content)


class PayloadFolder(PayloadDriver):
    """Stores each payload in FOLDER/NAMESPACE/WORKFLOW/SHA-256.

    `ORCHESTRATOR_PAYLOAD_STORE=/mnt/missions/payloads`
    """

    def __init__(self, folder: Path, *, marked: Callable[[PayloadLost], Payload]) -> None:
        super().__init__(str(folder), marked=marked)
        self.folder = folder

    def name(self) -> str:
        """Return the driver name that references contain."""
        return FOLDER_NAME

    def keep(self, key: PayloadKey, content: bytes) -> None:
        """See `PayloadDriver.keep`."""
        path = self.folder / str(key)
        try:
            private_folder(path.parent)
            if not create_file(path, content):
                with contextlib.suppress(OSError):
                    path.parent.touch()
        except OSError as error:
            raise PayloadLost(self.place, error.strerror or str(error)) from error

    def read(self, key: PayloadKey) -> bytes:
        """See `PayloadDriver.read`."""
        try:
            return (self.folder / str(key)).read_bytes()
        except OSError as error:
            raise PayloadLost(self.place, error.strerror or str(error)) from error

    def workflows(self, namespace: str) -> Mapping[str, datetime]:
        """See `PayloadDriver.workflows`."""
        of_namespace = self.folder / _quoted(namespace)
        if not of_namespace.is_dir():
            return {}
        return {
            unquote(place.name): datetime.fromtimestamp(place.stat().st_mtime, UTC)
            for place in of_namespace.iterdir()
        }

    def purge(self, namespace: str, workflow_id: str) -> None:
        """See `PayloadDriver.purge`."""
        shutil.rmtree(self.folder / _quoted(namespace) / _quoted(workflow_id), ignore_errors=True)


def _quoted(text: str) -> str:
    """Return a text as the name of a folder, which is neither '.' nor '..'."""
    return quote(text, safe="").replace(".", "%2E") if set(text) == {"."} else quote(text, safe="")
