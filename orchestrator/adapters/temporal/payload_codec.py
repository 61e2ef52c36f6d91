"""Encrypts payloads before they leave the process, and opens those that come in.

AES-256 in Galois/counter mode, whole payloads with their metadata. The id of the key stands beside
the ciphertext in the clear and is authenticated with it. Nonces are random: a key is good for four
thousand million payloads, and rotated long before that.
"""

import json
import os
from collections.abc import Sequence
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
)

from orchestrator.adapters.temporal.payload_keys import PayloadKeys
from orchestrator.core.payload_errors import PayloadLocked, PayloadLost, PayloadUnread

ENCRYPTED: Final = b"binary/encrypted"
"""The encoding of what is encrypted, as Temporal's own examples call it."""
LOCKED: Final = b"binary/locked"
"""The encoding of what stands in the place of a payload that cannot be read here."""
KEY_ID: Final = "encryption-key-id"
_ENCODING: Final = "encoding"
_CIPHER: Final = ("encryption-cipher", b"AES-256-GCM")
_NONCE_BYTES: Final = 12
_UNREAD: Final = {kind.__name__: kind for kind in (PayloadLocked, PayloadLost)}


class EncryptionCodec(PayloadCodec, WithSerializationContext):
    """Encrypts with the first key; opens with the one that a payload names.

    Payloads that are not encrypted are read as they are: encryption is turned on with missions in
    flight. What is locked is refused; for an activity it becomes a mark instead, so that the worker
    can give the task back unharmed: the SDK fails an activity whose input cannot be decoded.
    """

    def __init__(self, keys: PayloadKeys, *, marks_locked: bool = False) -> None:
        """Take the keys."""
        self._keys = keys
        self._marks_locked = marks_locked
        self._of_activities = self if marks_locked else EncryptionCodec(keys, marks_locked=True)

    def with_context(self, context: SerializationContext) -> "EncryptionCodec":
        """The codec for what is carried there."""
        return self._of_activities if isinstance(context, ActivitySerializationContext) else self

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """The payloads encrypted, where there is a key."""
        return [self.encrypted(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """The payloads opened.

        Raises:
            PayloadLocked: no key here opens one.
        """
        return [self._opened_or_marked(payload) for payload in payloads]

    def encrypted(self, payload: Payload) -> Payload:
        """One payload encrypted; as it is where there is no key."""
        encrypting = self._keys.encrypting()
        if encrypting is None:
            return payload
        key_id, cipher = encrypting
        name, nonce = key_id.encode(), os.urandom(_NONCE_BYTES)
        sealed = cipher.encrypt(nonce, payload.SerializeToString(), name)
        metadata = {_ENCODING: ENCRYPTED, KEY_ID: name, _CIPHER[0]: _CIPHER[1]}
        return Payload(metadata=metadata, data=nonce + sealed)

    def opened(self, payload: Payload) -> Payload:
        """One payload opened; as it is when it is not encrypted.

        Raises:
            PayloadLocked: no key here opens it.
        """
        if payload.metadata.get(_ENCODING) != ENCRYPTED:
            return payload
        from cryptography.exceptions import InvalidTag

        name = payload.metadata.get(KEY_ID, b"")
        key_id = name.decode("ascii", "replace")
        cipher = self._keys.decrypting(key_id)
        try:
            nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
            return Payload.FromString(cipher.decrypt(nonce, sealed, name))
        except (InvalidTag, ValueError):
            reason = "the key of that id here does not open it: it is another, or it was changed"
            raise PayloadLocked(key_id, reason) from None

    def _opened_or_marked(self, payload: Payload) -> Payload:
        if is_mark(payload) and not self._marks_locked:
            raise error_of(payload)
        try:
            return self.opened(payload)
        except PayloadLocked as locked:
            if not self._marks_locked:
                raise
            return mark_of(locked)


def mark_of(error: PayloadUnread) -> Payload:
    """What stands in the place of a payload that cannot be read here."""
    told = {"type": type(error).__name__, "details": error.details}
    return Payload(metadata={_ENCODING: LOCKED}, data=json.dumps(told).encode())


def is_mark(payload: Payload) -> bool:
    """Whether it stands in the place of a payload that cannot be read here."""
    return payload.metadata.get(_ENCODING) == LOCKED


def error_of(mark: Payload) -> PayloadUnread:
    """Why the payload in whose place a mark stands cannot be read."""
    told = json.loads(mark.data)
    return _UNREAD[told["type"]](**told["details"])


def key_id_of(payload: Payload) -> str | None:
    """The id of the key that a payload is encrypted with; None when it is not."""
    if payload.metadata.get(_ENCODING) != ENCRYPTED:
        return None
    return payload.metadata.get(KEY_ID, b"").decode("ascii", "replace")
