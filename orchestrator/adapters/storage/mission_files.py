"""Files that missions received, stored with their observations."""

import json

from orchestrator.adapters.storage.protocols import ObservationStore
from orchestrator.core.errors import ObservationMissing, ObservationsUnkept, StoreUnavailable
from orchestrator.core.received_files import ReceivedFile, handle_of_bytes


class MissionFiles:
    """Files by mission and handle.

    A piece is a line of JSON that describes the file, followed by its bytes. It is removed with the
    mission's observations.
    """

    def __init__(self, store: ObservationStore) -> None:
        self._store = store

    def keep(
        self, mission_id: str, content: bytes, *, content_type: str = "", name: str = ""
    ) -> ReceivedFile:
        """Store a file; equal bytes retain their first description.

        Raises:
            ObservationsUnkept: nothing can be stored now.
            ObservationMissing: the store became unavailable meanwhile.
        """
        received = ReceivedFile(
            handle=handle_of_bytes(content),
            content_type=content_type,
            size_bytes=len(content),
            name=name,
        )
        piece = json.dumps(received.model_dump(mode="json")).encode() + b"\n" + content
        try:
            self._store.put(mission_id, received.handle, piece)
        except StoreUnavailable as error:
            raise ObservationsUnkept(mission_id, error.place, error.reason) from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ObservationsUnkept(mission_id, "the state directory", reason) from error
        return _described(self._store.get(mission_id, received.handle))[0]

    def read(self, mission_id: str, handle: str) -> tuple[ReceivedFile, bytes] | None:
        """Return a file and its bytes; None if the mission has received no such file.

        Raises:
            ObservationMissing: the store cannot be read now.
        """
        try:
            return _described(self._store.get(mission_id, handle))
        except ObservationMissing as missing:
            if isinstance(missing.__cause__, StoreUnavailable):
                raise
            return None


def _described(piece: bytes) -> tuple[ReceivedFile, bytes]:
    described, _, content = piece.partition(b"\n")
    return ReceivedFile.model_validate_json(described), content
