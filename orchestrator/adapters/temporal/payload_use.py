"""Which keys recorded payloads are encrypted with: what a key is still needed for."""

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import Message
from temporalio.api.common.v1 import Header, Payload, SearchAttributes
from temporalio.api.history.v1 import MarkerRecordedEventAttributes
from temporalio.client import Client

from orchestrator.adapters.temporal.payload_codec import error_of, is_mark, key_id_of
from orchestrator.adapters.temporal.payload_references import PayloadReferences

PLAIN: Final = ""
"""In the place of a key's id: not encrypted."""


def payloads_in(message: Message) -> Iterator[Payload]:
    """Every payload of a recorded message that a codec gets to see."""
    if isinstance(message, Payload):
        yield message
    elif isinstance(message, MarkerRecordedEventAttributes):
        # The other details are the SDK's own notes, which it writes in the clear.
        if "result" in message.details:
            yield from payloads_in(message.details["result"])
        yield from payloads_in(message.failure)
    elif not isinstance(message, SearchAttributes | Header):
        for field, value in message.ListFields():
            if field.message_type is not None:
                for part in _parts(value):
                    yield from payloads_in(part)


def _parts(value: Any) -> Iterator[Message]:
    """The messages of a field: one, those of a list, or the values of a map."""
    if isinstance(value, Message):
        yield value
        return
    for part in value.values() if hasattr(value, "values") else value:
        if isinstance(part, Message):
            yield part


async def key_ids_of(client: Client, workflow_id: str, run_id: str) -> set[str]:
    """The ids of the keys that the history of one run needs; `PLAIN` is among them if some is not.

    What is kept elsewhere is looked at where it is.

    Raises:
        RPCError: the server no longer keeps it.
        PayloadUnread: a large payload of it is not to be had.
    """
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    ids = set()
    async for event in handle.fetch_history_events():
        ids |= await _key_ids_in(client, event)
    return ids


async def key_ids_of_schedule(client: Client, schedule_id: str) -> set[str]:
    """The ids of the keys that what a schedule starts needs, and what it tells of itself.

    Raises:
        RPCError: there is no such schedule.
        PayloadUnread: a large payload of it is not to be had.
    """
    found = await client.get_schedule_handle(schedule_id).describe()
    told = found.raw_description
    return await _key_ids_in(client, told.schedule.action) | await _key_ids_in(client, told.memo)


async def _key_ids_in(client: Client, message: Message) -> set[str]:
    references = PayloadReferences(client.data_converter.external_storage)
    ids = set()
    for recorded in payloads_in(message):
        payload = await references.fetched(recorded)
        if is_mark(payload):
            raise error_of(payload)
        ids.add(key_id_of(payload) or PLAIN)
    return ids
