"""Answers once a worker has the key that a workflow encrypts with; `LockedCalls` sees to that."""

from temporalio import activity

from orchestrator.messages import names
from orchestrator.messages.key_probe import KeyProbe


@activity.defn(name=names.AWAIT_KEY)
async def await_key(probe: KeyProbe) -> None:
    """Nothing: that it runs is the answer."""
