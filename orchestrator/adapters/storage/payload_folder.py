"""Large payloads as files of a folder that all workers and clients share."""

import contextlib
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from temporalio.api.common.v1 import Payload

from orchestrator.adapters.storage.files import create_file, private_folder
from orchestrator.adapters.storage.payload_driver import PayloadDriver, PayloadKey, quoted
from orchestrator.core.payload_errors import PayloadLost

NAME: Final = "orchestrator-folder"


class PayloadFolder(PayloadDriver):
    """Keeps each payload in FOLDER/NAMESPACE/WORKFLOW/SHA-256.

    `ORCHESTRATOR_PAYLOAD_STORE=/mnt/missions/payloads`
    """

    def __init__(self, folder: Path, *, marked: Callable[[PayloadLost], Payload]) -> None:
        """Take the folder, and what is to stand in the place of what it cannot give."""
        super().__init__(str(folder), marked=marked)
        self.folder = folder

    def name(self) -> str:
        """What references call it."""
        return NAME

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
        of_namespace = self.folder / quoted(namespace)
        if not of_namespace.is_dir():
            return {}
        return {
            unquote(place.name): datetime.fromtimestamp(place.stat().st_mtime, UTC)
            for place in of_namespace.iterdir()
        }

    def purge(self, namespace: str, workflow_id: str) -> None:
        """See `PayloadDriver.purge`."""
        shutil.rmtree(self.folder / quoted(namespace) / quoted(workflow_id), ignore_errors=True)
