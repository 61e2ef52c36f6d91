"""Files that missions received, for a person: read from the store, whatever the server knows."""

import asyncio

from pydantic import Field

from orchestrator.adapters.storage.mission_files import MissionFiles
from orchestrator.client.stores import store_of
from orchestrator.core.errors import FileUnknown
from orchestrator.core.received_files import ReceivedFile
from orchestrator.settings import Settings


class KeptFile(ReceivedFile):
    """A file that a mission received, with its bytes."""

    content: bytes = Field(repr=False)


async def mission_file(settings: Settings, mission_id: str, handle: str) -> KeptFile:
    """A file of a mission, by its handle.

    Raises:
        FileUnknown: the mission has received no such file, or it is no longer kept.
        StateLacking: the store cannot be read now.
    """
    async with store_of(settings) as store:
        found = await asyncio.to_thread(MissionFiles(store.observations).read, mission_id, handle)
    if found is None:
        raise FileUnknown(mission_id, handle)
    received, content = found
    return KeptFile(**received.model_dump(), content=content)
