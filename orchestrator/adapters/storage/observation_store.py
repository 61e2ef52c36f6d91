"""What the legs of missions have seen, kept once beside their histories, which name it by a key."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from orchestrator.adapters.storage.files import create_file, private_folder, replace_file
from orchestrator.core.errors import ObservationMissing

FOLDER_NAME: Final = "observations"
_MISSION: Final = "mission.json"


class ObservationStore(Protocol):
    """Pieces of bytes, each of one mission under a key that is never used for another content.

    All of it may be called from several threads and processes at once, and again after a death.
    """

    def put(self, mission_id: str, key: str, piece: bytes) -> None:
        """Keep a piece; of a key that is there already nothing is changed."""
        ...

    def get(self, mission_id: str, key: str) -> bytes:
        """A piece that was kept.

        Raises:
            ObservationMissing: it is not here: it was kept in another place, or is gone.
        """
        ...

    def missions(self) -> Mapping[str, datetime]:
        """Ids of the missions of which anything is kept, and when the last of it was."""
        ...

    def purge(self, *mission_ids: str) -> None:
        """Remove all that is kept of these missions; what is gone already stays so."""
        ...


class FileObservations:
    """A folder for each mission, with a file for each piece: whole, or not there.

    Workers on several machines share the directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, mission_id: str, key: str, piece: bytes) -> None:
        """See `ObservationStore.put`; it is on disk before this returns."""
        folder = self._folder(mission_id)
        if not (folder / _MISSION).exists():
            private_folder(folder)
            replace_file(folder / _MISSION, json.dumps({"mission_id": mission_id}).encode())
        create_file(folder / _file_of(key), piece)

    def get(self, mission_id: str, key: str) -> bytes:
        """See `ObservationStore.get`."""
        path = self._folder(mission_id) / _file_of(key)
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise ObservationMissing(mission_id, str(self._directory)) from error
        except OSError as error:  # a share that is away: its leg waits for it as well
            place = f"{self._directory} ({error.strerror or type(error).__name__})"
            raise ObservationMissing(mission_id, place) from error

    def missions(self) -> Mapping[str, datetime]:
        """See `ObservationStore.missions`."""
        found: dict[str, datetime] = {}
        for note in self._directory.glob(f"*/{_MISSION}"):
            try:
                mission_id = json.loads(note.read_bytes())["mission_id"]
                changed = note.parent.stat().st_mtime
            except FileNotFoundError:  # another process has just removed it
                continue
            found[mission_id] = datetime.fromtimestamp(changed, UTC)
        return found

    def purge(self, *mission_ids: str) -> None:
        """See `ObservationStore.purge`."""
        for mission_id in mission_ids:
            shutil.rmtree(self._folder(mission_id), ignore_errors=True)

    def _folder(self, mission_id: str) -> Path:
        # Ids are people's own texts, and no names of folders.
        return self._directory / hashlib.sha256(mission_id.encode()).hexdigest()[:40]


def _file_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
