"""Large payloads as files of a folder that all workers and clients share.

What is kept is what would have been recorded: encrypted, where payload keys are set. A file is
named by its content, so that keeping it twice, or being killed while keeping it, changes nothing.
"""

import asyncio
import contextlib
import hashlib
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
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
from orchestrator.core.payload_errors import PayloadLost

NAME: Final = "orchestrator-folder"
_KEY: Final = "key"
_UNNAMED: Final = "-"
_SAFE_KEY: Final = re.compile(r"[^/]+/[^/]+/[0-9a-f]{64}")


class PayloadFolder(StorageDriver):
    """Keeps each payload in FOLDER/NAMESPACE/WORKFLOW/SHA-256.

    `ORCHESTRATOR_PAYLOAD_STORE=/mnt/missions/payloads`
    """

    def __init__(self, folder: Path, *, marked: Callable[[PayloadLost], Payload]) -> None:
        """Take the folder, and what is to stand in the place of what it cannot give."""
        self.folder = folder
        self._marked = marked

    def name(self) -> str:
        """What references call it."""
        return NAME

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Keep payloads, and give what each is found by.

        Raises:
            PayloadLost: they cannot be kept now; what was to be recorded is tried again.
        """
        place = self._place(context)
        return [await asyncio.to_thread(self._keep, place, payload) for payload in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """The payloads, with marks in the place of those that cannot be read: nobody fails."""
        return [await asyncio.to_thread(self._read, claim.claim_data) for claim in claims]

    def workflows(self, namespace: str) -> Mapping[str, datetime]:
        """The ids of the workflows that something is kept of, and when the last of it was."""
        of_namespace = self.folder / _quoted(namespace)
        if not of_namespace.is_dir():
            return {}
        return {
            unquote(place.name): datetime.fromtimestamp(place.stat().st_mtime, UTC)
            for place in of_namespace.iterdir()
        }

    def purge(self, namespace: str, workflow_id: str) -> None:
        """Remove all that is kept of a workflow; repeated, it changes nothing."""
        place = self.folder / _quoted(namespace) / _quoted(workflow_id)
        shutil.rmtree(place, ignore_errors=True)

    def _place(self, context: StorageDriverStoreContext) -> str:
        """The folder of what is kept for a workflow, within ours."""
        target = context.target
        of_workflow = isinstance(target, StorageDriverWorkflowInfo)
        workflow_id = (target.id or _UNNAMED) if target and of_workflow else _UNNAMED
        namespace = target.namespace if target else _UNNAMED
        return f"{_quoted(namespace)}/{_quoted(workflow_id)}"

    def _keep(self, place: str, payload: Payload) -> StorageDriverClaim:
        content = payload.SerializeToString(deterministic=True)
        key = f"{place}/{hashlib.sha256(content).hexdigest()}"
        path = self.folder / key
        try:
            private_folder(path.parent)
            if not create_file(path, content):
                # Kept before: its age counts from now, or it would be removed too soon.
                with contextlib.suppress(OSError):
                    path.parent.touch()
        except OSError as error:
            raise PayloadLost(str(self.folder), error.strerror or str(error)) from error
        return StorageDriverClaim({_KEY: key})

    def _read(self, claim: Mapping[str, str]) -> Payload:
        key = claim.get(_KEY, "")
        if not _SAFE_KEY.fullmatch(key) or ".." in key.split("/"):
            # Whoever may write to the server may name any file.
            return self._marked(PayloadLost(str(self.folder), "its reference names no payload"))
        try:
            content = (self.folder / key).read_bytes()
        except OSError as error:
            return self._marked(PayloadLost(str(self.folder), error.strerror or str(error)))
        if hashlib.sha256(content).hexdigest() != key.rpartition("/")[2]:
            return self._marked(PayloadLost(str(self.folder), "its file was changed"))
        return Payload.FromString(content)


def _quoted(text: str) -> str:
    """A text as the name of a folder: not '.' and not '..' either."""
    return quote(text, safe="").replace(".", "%2E") if set(text) == {"."} else quote(text, safe="")
