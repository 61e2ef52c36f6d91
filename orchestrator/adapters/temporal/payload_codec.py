"""Encrypts payloads before they leave the process, and decrypts those that arrive.

AES-256 in Galois/counter mode, over whole payloads with their metadata. The id of the key is stored
unencrypted with the ciphertext and is authenticated with it. Nonces are random: a key is safe for
four thousand million payloads, and is rotated long before that.
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
from orchestrator.core.errors import PayloadLocked

ENCRYPTED: Final = b"binary/encrypted"
"""The encoding of encrypted payloads, named as in Temporal's own examples."""
LOCKED: Final = b"binary/locked"
"""The encoding of a mark that replaces a payload which cannot be read here."""
KEY_ID: Final = "encryption-key-id"
_ENCODING: Final = "encoding"
_CIPHER: Final = ("encryption-cipher", b"AES-256-GCM")
_NONCE_BYTES: Final = 12


class EncryptionCodec(PayloadCodec, WithSerializationContext):
    """Encrypt with the first key; decrypt with the key that a payload names.

    Payloads that are not encrypted are passed through, because encryption may be turned on while
    missions run. A locked payload is refused; for an activity it becomes a mark instead, so that
    the worker can return the task without effects: the SDK fails an activity whose input cannot be
    decoded.
    """

    def __init__(self, keys: PayloadKeys, *, marks_locked: bool = False) -> None:
        self._keys = keys
        self._marks_locked = marks_locked
        self._of_activities = self if marks_locked else EncryptionCodec(keys, marks_locked=True)

    def with_context(self, context: SerializationContext) -> "EncryptionCodec":
        """Return the codec for a serialization context: activities get the one that marks."""
        return self._of_activities if isinstance(context, ActivitySerializationContext) else self

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads encrypted, if there is a key."""
        return [self.encrypted(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads decrypted.

        Raises:
            PayloadLocked: no key of this process decrypts one of them.
        """
        return [self._opened_or_marked(payload) for payload in payloads]

    def encrypted(self, payload: Payload) -> Payload:
        """Return one payload encrypted; unchanged if there is no key."""
        encrypting = self._keys.encrypting()
        if encrypting is None:
            return payload
        key_id, cipher = encrypting
        name, nonce = key_id.encode(), os.urandom(_NONCE_BYTES)
        sealed = cipher.encrypt(nonce, payload.SerializeToString(), name)
        metadata = {_ENCODING: ENCRYPTED, KEY_ID: name, _CIPHER[0]: _CIPHER[1]}
        return Payload(metadata=metadata, data=nonce + sealed)

    def opened(self, payload: Payload) -> Payload:
        """Return one payload decrypted; unchanged if it is not encrypted.

        Raises:
            PayloadLocked: no key of this process decrypts it.
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


def mark_of(error: PayloadLocked) -> Payload:
    """Return the mark that replaces a payload which cannot be read here."""
    return Payload(
        metadata={_ENCODING: LOCKED},
        data=json.dumps({"key_id": error.key_id, "reason": error.reason}).encode(),
    )


def is_mark(payload: Payload) -> bool:
    """Return True if the payload is a mark that replaces one which cannot be read here."""
    return payload.metadata.get(_ENCODING) == LOCKED


def error_of(mark: Payload) -> PayloadLocked:
    """Return the error that says why the payload behind a mark cannot be read."""
    return PayloadLocked(**json.loads(mark.data))


def key_id_of(payload: Payload) -> str | None:
    """Return the id of the key that a payload is encrypted with; None if it is not encrypted."""
    if payload.metadata.get(_ENCODING) != ENCRYPTED:
        return None
    return payload.metadata.get(KEY_ID, b"").decode("ascii", "replace")
