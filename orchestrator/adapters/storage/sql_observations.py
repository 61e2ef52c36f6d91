"""Observations of legs and files of missions, in a shared database."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from orchestrator.adapters.storage.protocols import ObservationStore, observation_missing, unkept
from orchestrator.adapters.storage.schema import observations
from orchestrator.adapters.storage.store_database import StoreDatabase, digest_of
from orchestrator.core.errors import ObservationMissing, StoreUnavailable
from orchestrator.core.received_files import ReceivedFile, handle_of_bytes

_KEPT: Final = observations.c
_PIECE: Final = sa.select(_KEPT.piece).where(
    _KEPT.mission_id == sa.bindparam("mission"), _KEPT.key_digest == sa.bindparam("key")
)


class SqlObservations:
    """An `ObservationStore`: a row for each piece."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._keep = database.insert_new(observations)

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """See `ObservationStore.put`; committed before this returns."""
        row = {
            "mission_id": mission_id,
            "key_digest": digest_of(key),
            "piece": piece,
            "kept_at": datetime.now(UTC),
        }
        return self._database.run(self._keep, row) == 1

    def get(self, mission_id: str, key: str) -> bytes:
        """See `ObservationStore.get`."""
        named = {"mission": mission_id, "key": digest_of(key)}
        try:
            found = self._database.fetch(_PIECE, named)
        except StoreUnavailable as error:  # its leg waits as for a store elsewhere
            place = f"{self._database.place} ({error.reason})"
            raise observation_missing(mission_id, place) from error
        if not found:
            raise observation_missing(mission_id, self._database.place)
        return bytes(found[0].piece)

    def missions(self) -> Mapping[str, datetime]:
        """See `ObservationStore.missions`."""
        query = sa.select(_KEPT.mission_id, sa.func.max(_KEPT.kept_at)).group_by(_KEPT.mission_id)
        return {mission_id: at for mission_id, at in self._database.fetch(query)}

    def purge(self, *mission_ids: str) -> None:
        """See `ObservationStore.purge`; one transaction for each mission."""
        for mission_id in mission_ids:
            self._database.run(sa.delete(observations).where(_KEPT.mission_id == mission_id))


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
            StateMissing: as ObservationsUnkept: nothing can be stored now.
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
        except (StoreUnavailable, OSError) as error:
            raise unkept(mission_id, error) from error
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
