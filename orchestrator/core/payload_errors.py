"""What is wrong with the encryption of payloads: its keys, or one that no key here opens."""

from typing import ClassVar

from orchestrator.core.errors import ServiceUnavailable, UsageError, Worded

KEYS_VARIABLE = "ORCHESTRATOR_PAYLOAD_KEYS"


class PayloadKeysInvalid(UsageError, Worded):
    """The keys of payloads are not written as they should be; no key is ever quoted."""

    template = (
        "{name}: {reason}; write ID:KEY, one for each key, the one that encrypts first "
        "(make one with: orchestrator payload-keys new ID FILE)"
    )
    name: str
    reason: str


class PayloadUnread(ServiceUnavailable):
    """A payload that cannot be read here and now: whoever meets it waits, and loses nothing."""


class PayloadLocked(PayloadUnread, Worded):
    """A payload that no key here opens."""

    UNKNOWN_HERE: ClassVar[str] = "a payload is encrypted with the key"
    template = (
        f"{UNKNOWN_HERE} {{key_id!r}}, and {{reason}}; give this process that key "
        f"in {KEYS_VARIABLE} or {KEYS_VARIABLE}_FILE"
    )
    key_id: str
    reason: str


class WorkerLacksKey(UsageError, Worded):
    """A worker that could not read the missions of its task queue; it does not begin."""

    template = (
        "this worker could not read the missions of the task queue {task_queue!r}: {reason}. Where "
        "that key is lost for good, they are lost as well: delete the schedule "
        "{schedule_id!r}, and start again"
    )
    task_queue: str
    schedule_id: str
    reason: str


class PayloadLost(PayloadUnread, Worded):
    """A large payload that its store cannot keep or give now, or does not hold."""

    template = (
        "a large payload is not to be had in {place}: {reason}; give this process the "
        "ORCHESTRATOR_PAYLOAD_STORE that all others have"
    )
    place: str
    reason: str
