"""What a sandbox says of itself once it answers: where each document is, what it remembers."""

from typing import Any

from rich.console import Console

from orchestrator.sandbox import RunningSandbox
from orchestrator.sandbox.remembered import DocumentMemory

_KINDS = 12
_SKIPPED = 5
_NAMES = 3


def as_json(running: RunningSandbox) -> dict[str, Any]:
    """The addresses, and all that is remembered of each document."""
    documents = [
        {**memory.to_json(), "url": running.base_url + memory.path} for memory in running.memories
    ]
    return {
        "url": running.base_url,
        "ledger": f"{running.base_url}/_sandbox/ledger",
        "documents": documents,
    }


def started(console: Console, running: RunningSandbox) -> None:
    """The same for people, of large documents the beginning."""
    console.print(f"sandbox answers at {running.base_url}")
    for memory in running.memories:
        console.print()
        console.print(f"{memory.document}: {running.base_url}{memory.path}", soft_wrap=True)
        _document(console, memory)
    console.print()
    every = f"{running.base_url}/_sandbox/documents"
    console.print(f"all of it as JSON: {every}", soft_wrap=True)
    console.print("point a client at a document by its address above, in place of its own server;")
    console.print("any credential is taken (docs/sandbox.md)")


def skipped(console: Console, memories: tuple[DocumentMemory, ...]) -> None:
    """The operations that are not served, each with its place, its reason and what to do."""
    for memory in memories:
        for operation in memory.skipped[:_SKIPPED]:
            console.print(f"skipped: {operation}", soft_wrap=True)
        more = len(memory.skipped) - _SKIPPED
        if more > 0:
            console.print(f"skipped: {memory.document}: {more} more operations")


def _document(console: Console, memory: DocumentMemory) -> None:
    console.print(f"  {memory.served} operations are served, {len(memory.skipped)} are not")
    for kind in memory.kinds[:_KINDS]:
        deeds = "; ".join(f"{deed} {_names(named)}" for deed, named in kind.operations.items())
        console.print(f"  remembers {kind.thing}: {deeds}", soft_wrap=True)
    if len(memory.kinds) > _KINDS:
        console.print(f"  remembers {len(memory.kinds) - _KINDS} more kinds of things")
    if memory.unremembered:
        names = _names(list(memory.unremembered))
        console.print(f"  answers, and remembers nothing of: {names}", soft_wrap=True)
    skipped(console, (memory,))


def _names(operations: list[str]) -> str:
    more = len(operations) - _NAMES
    return ", ".join(operations[:_NAMES]) + (f" and {more} more" if more > 0 else "")
