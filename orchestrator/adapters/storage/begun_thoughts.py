"""Counts of unfinished thoughts, in small files that outlive a worker which a thought crashes."""

import contextlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from orchestrator.adapters.storage.files import private_folder

FOLDER: Final = "thoughts"
"""The name of the folder in the state directory."""


class BegunThoughts:
    """Counts in FOLDER/MISSION.LEG.STEP how often a thought began without ending.

    Nothing is synced to disk: files survive their process, but possibly not a loss of power.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist."""
        self._folder = folder

    def begin(self, mission_id: str, leg_id: str, step: int) -> int:
        """Record that a thought begins; return how many began without ending, with this one.

        Returns 1 if nothing can be written.
        """
        path = self._path(mission_id, leg_id, step)
        count = self._read(path) + 1
        written = path.with_name(f".{uuid4().hex}")
        try:
            private_folder(self._folder)
            with os.fdopen(os.open(written, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as f:
                f.write(str(count))
            os.replace(written, path)
        except OSError:
            return 1
        return count

    def end(self, mission_id: str, leg_id: str, step: int) -> None:
        """Remove the count of a thought that ended in any way: its worker is alive."""
        with contextlib.suppress(OSError):
            self._path(mission_id, leg_id, step).unlink(missing_ok=True)

    def missions(self) -> Mapping[str, datetime]:
        """Return the missions with counts, and when the last of each was written."""
        found: dict[str, datetime] = {}
        with contextlib.suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    mission_id = path.name.partition(".")[0]
                    found[mission_id] = max(at, found.get(mission_id, at))
        found.pop("", None)  # temporary file of a worker that died while it wrote
        return found

    def purge(self, *mission_ids: str) -> None:
        """Remove the counts of these missions; idempotent."""
        for mission_id in mission_ids:
            for path in self._folder.glob(f"{mission_id}.*"):
                path.unlink(missing_ok=True)

    def _path(self, mission_id: str, leg_id: str, step: int) -> Path:
        return self._folder / f"{mission_id}.{leg_id}.{step}"

    @staticmethod
    def _read(path: Path) -> int:
        try:
            return int(path.read_text())
        except (OSError, ValueError):
            return 0
