"""Find the keys that recorded payloads are encrypted with, and that are therefore still needed."""

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import Message
from temporalio.api.common.v1 import Header, Payload, SearchAttributes
from temporalio.api.history.v1 import MarkerRecordedEventAttributes
from temporalio.client import Client

from orchestrator.adapters.temporal.payload_codec import error_of, is_mark, key_id_of
from orchestrator.adapters.temporal.payload_references import PayloadReferences

PLAIN: Final = ""
"""Used in place of a key's id for payloads that are not encrypted."""


def payloads_in(message: Message) -> Iterator[Payload]:
    """Yield every payload of a recorded message that passes through a codec."""
    if isinstance(message, Payload):
        yield message
    elif isinstance(message, MarkerRecordedEventAttributes):
        # The other details are the SDK's own notes, which it writes unencrypted.
        if "result" in message.details:
            yield from payloads_in(message.details["result"])
        yield from payloads_in(message.failure)
    elif not isinstance(message, SearchAttributes | Header):
        for field, value in message.ListFields():
            if field.message_type is not None:
                for part in _parts(value):
                    yield from payloads_in(part)


def _parts(value: Any) -> Iterator[Message]:
    """Yield the messages of a field: one message, those of a list, or the values of a map."""
    if isinstance(value, Message):
        yield value
        return
    for part in value.values() if hasattr(value, "values") else value:
        if isinstance(part, Message):
            yield part


async def key_ids_of(client: Client, workflow_id: str, run_id: str) -> set[str]:
    """Return the key ids that one run's history needs, with `PLAIN` for unencrypted payloads.

    Payloads that are stored elsewhere are fetched from their store.

    Raises:
        RPCError: the server no longer has the history.
        PayloadUnread: a large payload of the history is not available.
    """
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    ids = set()
    async for event in handle.fetch_history_events():
        ids |= await _key_ids_in(client, event)
    return ids


async def key_ids_of_schedule(client: Client, schedule_id: str) -> set[str]:
    """Return the ids of the keys that a schedule and its starts need.

    Raises:
        RPCError: there is no such schedule.
        PayloadUnread: a large payload of the schedule is not available.
    """
    found = await client.get_schedule_handle(schedule_id).describe()
    description = found.raw_description
    of_action = await _key_ids_in(client, description.schedule.action)
    return of_action | await _key_ids_in(client, description.memo)


async def _key_ids_in(client: Client, message: Message) -> set[str]:
    references = PayloadReferences(client.data_converter.external_storage)
    ids = set()
    for recorded in payloads_in(message):
        payload = await references.fetched(recorded)
        if is_mark(payload):
            raise error_of(payload)
        ids.add(key_id_of(payload) or PLAIN)
    return ids
