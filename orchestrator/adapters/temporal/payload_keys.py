"""The keys of payload encryption: the first key encrypts, each of them decrypts."""

import binascii
import logging
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from orchestrator.core.errors import KEYS_VARIABLE, PayloadLocked, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_log = logging.getLogger(__name__)
KEY_BYTES: Final = 32
"""The key length of AES-256."""
_LONGEST_ID: Final = 64
_LOOK_AGAIN_S: Final = 1.0
"""Minimum time between two reads of the file in search of an unknown key."""


def new_payload_key() -> str:
    """Return a new key, encoded as in a file or an environment variable."""
    return urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()


def read_payload_keys(text: str, name: str) -> dict[str, bytes]:
    """Return keys by their ids, in the order of the text.

    Args:
        text: ID:KEY, separated by white space or commas; a line that begins with # is a comment.
        name: the name of the source in errors.

    Raises:
        UsageError: as PayloadKeysInvalid: an entry is malformed, is no key, or occurs twice.
    """
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    keys: dict[str, bytes] = {}
    for number, written in enumerate(" ".join(lines).replace(",", " ").split(), start=1):
        key_id, found, value = written.partition(":")
        if not found or not is_key_id(key_id):
            # The text itself is not shown: it may be a key without its id.
            raise keys_invalid(name, f"the key at place {number} has no id of its own")
        if key_id in keys:
            raise keys_invalid(name, f"{key_id!r} is there twice")
        fault = keys_invalid(name, f"what {key_id!r} names is not {KEY_BYTES} bytes in base64")
        plain = value.rstrip("=").replace("+", "-").replace("/", "_")
        try:
            key = urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
        except (binascii.Error, ValueError):
            raise fault from None
        if len(key) != KEY_BYTES:
            raise fault
        keys[key_id] = key
    return keys


def keys_invalid(name: str, reason: str) -> UsageError:
    """Return the error for malformed keys; `name` is that of the variable."""
    return UsageError(
        f"{name}: {reason}; write ID:KEY, one for each key, the one that encrypts first "
        "(make one with: orchestrator key payload FILE --id ID)",
        code="PayloadKeysInvalid",
    )


def is_key_id(text: str) -> bool:
    """Return True if a text can be a key's id, which is stored unencrypted with each payload."""
    plain = text.replace("-", "").replace("_", "").replace(".", "")
    return 0 < len(text) <= _LONGEST_ID and plain.isascii() and plain.isalnum()


class PayloadKeys:
    """The keys of this process; without any, nothing is encrypted.

    `PayloadKeys.of_text("2026-11:...,2026-05:...")`

    The file is read again when a payload names an unknown key: a key that is added to the file
    while a worker runs is found without a restart.
    """

    def __init__(
        self, read: Callable[[], Mapping[str, bytes]] | None = None, *, may_change: bool = False
    ) -> None:
        """Store the function that reads the keys, and whether its result may change later."""
        self._read = read or dict
        self._may_change = may_change
        self._ciphers = self._made(self._read())
        self._looked_at = time.monotonic()

    @classmethod
    def of_text(cls, text: str) -> "PayloadKeys":
        """Return the keys of an environment variable."""
        return cls(lambda: read_payload_keys(text, KEYS_VARIABLE))

    @classmethod
    def of_file(cls, path: Path) -> "PayloadKeys":
        """Return the keys of a file, which is read now and whenever a key is missing.

        Raises:
            UsageError: as PayloadKeysInvalid: the file cannot be read, or contains no keys.
        """
        name = f"{KEYS_VARIABLE}_FILE"

        def read() -> Mapping[str, bytes]:
            try:
                keys = read_payload_keys(path.read_text(encoding="ascii"), name)
            except (OSError, UnicodeDecodeError):
                raise keys_invalid(name, f"{path} cannot be read") from None
            if not keys:
                # An empty file would silently turn encryption off.
                raise keys_invalid(name, f"{path} holds no key")
            return keys

        return cls(read, may_change=True)

    def __repr__(self) -> str:
        return f"PayloadKeys({', '.join(self._ciphers)})"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the keys, the encrypting key first."""
        return tuple(self._ciphers)

    def encrypting(self) -> "tuple[str, AESGCM] | None":
        """Return the id and cipher of the encrypting key; None if nothing is to be encrypted."""
        return next(iter(self._ciphers.items()), None)

    def decrypting(self, key_id: str) -> "AESGCM":
        """Return the cipher of a key id.

        Raises:
            PayloadLocked: this process has no key of that id.
        """
        now = time.monotonic()
        looks_again = self._may_change and now - self._looked_at >= _LOOK_AGAIN_S
        if key_id not in self._ciphers and looks_again:
            self._looked_at = now
            try:
                self._ciphers = self._made(self._read())
            except UsageError as fault:
                _log.warning("the payload keys of before go on being used: %s", fault)
        if (cipher := self._ciphers.get(key_id)) is not None:
            return cipher
        only = f"only {', '.join(map(repr, self._ciphers))} is known here"
        raise PayloadLocked(key_id, only if self._ciphers else "no payload keys are set here")

    @staticmethod
    def _made(keys: Mapping[str, bytes]) -> "dict[str, AESGCM]":
        if not keys:
            return {}
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return {key_id: AESGCM(key) for key_id, key in keys.items()}
