"""Large payloads, kept where a reference in history names them.

What is kept is what would have been recorded: encrypted, where payload keys are set. It is named by
its content, so that keeping it twice, or being killed while keeping it, changes nothing.
"""

import asyncio
import hashlib
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self
from urllib.parse import quote, unquote

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
    StorageDriverWorkflowInfo,
)

from orchestrator.core.payload_errors import PayloadLost

_KEY: Final = "key"
_UNNAMED: Final = "-"
_WRITTEN: Final = re.compile(r"(?P<namespace>[^/]+)/(?P<workflow>[^/]+)/(?P<sha256>[0-9a-f]{64})")


@dataclass(frozen=True)
class PayloadKey:
    """What a payload is found by: whose it is, and the SHA-256 of its content, in hex."""

    namespace: str
    workflow_id: str
    sha256: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The key that a reference holds; None: it holds none, whoever wrote it."""
        found = _WRITTEN.fullmatch(text)
        if found is None or ".." in text.split("/"):
            return None
        return cls(unquote(found["namespace"]), unquote(found["workflow"]), found["sha256"])

    def __str__(self) -> str:
        return f"{quoted(self.namespace)}/{quoted(self.workflow_id)}/{self.sha256}"


class PayloadDriver(StorageDriver):
    """Keeps payloads by their keys; where, each kind says."""

    def __init__(self, place: str, *, marked: Callable[[PayloadLost], Payload]) -> None:
        """Take what the place is called before people, and what stands for what it cannot give."""
        self.place = place
        self._marked = marked

    @abstractmethod
    def keep(self, key: PayloadKey, content: bytes) -> None:
        """Keep it; kept before, its age counts from now, or it would be removed too soon.

        Raises:
            PayloadLost: it cannot be kept now.
        """

    @abstractmethod
    def read(self, key: PayloadKey) -> bytes:
        """What was kept.

        Raises:
            PayloadLost: it is not to be had.
        """

    @abstractmethod
    def workflows(self, namespace: str) -> Mapping[str, datetime]:
        """The ids of the workflows that something is kept of, and when the last of it was."""

    @abstractmethod
    def purge(self, namespace: str, workflow_id: str) -> None:
        """Remove all that is kept of a workflow; repeated, it changes nothing."""

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Keep payloads, and give what each is found by.

        Raises:
            PayloadLost: they cannot be kept now; what was to be recorded is tried again.
        """
        return [await asyncio.to_thread(self._claim, context, payload) for payload in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """The payloads, with marks in the place of those that cannot be read: nobody fails."""
        return [await asyncio.to_thread(self._found, claim.claim_data) for claim in claims]

    def _claim(self, context: StorageDriverStoreContext, payload: Payload) -> StorageDriverClaim:
        content = payload.SerializeToString(deterministic=True)
        target = context.target
        of_workflow = isinstance(target, StorageDriverWorkflowInfo)
        key = PayloadKey(
            target.namespace if target else _UNNAMED,
            (target.id or _UNNAMED) if target and of_workflow else _UNNAMED,
            hashlib.sha256(content).hexdigest(),
        )
        self.keep(key, content)
        return StorageDriverClaim({_KEY: str(key)})

    def _found(self, claim: Mapping[str, str]) -> Payload:
        key = PayloadKey.parse(claim.get(_KEY, ""))
        if key is None:  # whoever may write to the server may name anything
            return self._marked(PayloadLost(self.place, "its reference names no payload"))
        try:
            content = self.read(key)
        except PayloadLost as error:
            return self._marked(error)
        if hashlib.sha256(content).hexdigest() != key.sha256:
            return self._marked(PayloadLost(self.place, "what is kept of it was changed"))
        return Payload.FromString(content)


def quoted(text: str) -> str:
    """A text as the name of a folder: not '.' and not '..' either."""
    return quote(text, safe="").replace(".", "%2E") if set(text) == {"."} else quote(text, safe="")
