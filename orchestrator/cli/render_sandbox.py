"""What a sandbox says of itself once it answers: where each document is, what it remembers."""

from typing import Any

from rich.console import Console

from orchestrator.core.shown_text import number_of
from orchestrator.sandbox import RunningSandbox
from orchestrator.sandbox.app import DocumentMemory

_KINDS = 12
_SKIPPED = 5
_NAMES = 3


def as_json(base_url: str, memories: tuple[DocumentMemory, ...]) -> dict[str, Any]:
    """The addresses, and all that is remembered of each document."""
    return {
        "url": base_url,
        "ledger": f"{base_url}/_sandbox/ledger",
        "documents": [{**memory.to_json(), "url": base_url + memory.path} for memory in memories],
    }


def started(console: Console, running: RunningSandbox) -> None:
    """The same for people, of large documents the beginning."""
    console.print(f"sandbox answers at {running.base_url}")
    console.print()
    documents(console, running.base_url, running.memories)
    every = f"{running.base_url}/_sandbox/documents"
    console.print(f"all of it as JSON: {every}", soft_wrap=True)
    console.print("point a client at a document by its address above, in place of its own server;")
    console.print("any credential is taken (docs/sandbox.md)")


def documents(console: Console, base_url: str, memories: tuple[DocumentMemory, ...]) -> None:
    """Where each document is at a sandbox with this address, and what is remembered of it."""
    for memory in memories:
        console.print(f"{memory.document}: {base_url}{memory.path}", soft_wrap=True)
        _document(console, memory)
        console.print()


def skipped(console: Console, memories: tuple[DocumentMemory, ...]) -> None:
    """The operations that are not served, each with its place, its reason and what to do."""
    for memory in memories:
        for operation in memory.skipped[:_SKIPPED]:
            console.print(f"skipped: {operation}", soft_wrap=True)
        more = len(memory.skipped) - _SKIPPED
        if more > 0:
            console.print(f"skipped: {memory.document}: {number_of(more, 'more operation')}")


def _document(console: Console, memory: DocumentMemory) -> None:
    served, skips = number_of(memory.served, "operation"), len(memory.skipped)
    console.print(f"  served: {served}; not served: {skips or 'none'}")
    for kind in memory.kinds[:_KINDS]:
        deeds = "; ".join(f"{deed} {_names(named)}" for deed, named in kind.operations.items())
        console.print(f"  remembers {kind.thing}: {deeds}", soft_wrap=True)
    if len(memory.kinds) > _KINDS:
        more = number_of(len(memory.kinds) - _KINDS, "more kind")
        console.print(f"  remembers {more} of things")
    if memory.unremembered:
        names = _names(list(memory.unremembered))
        console.print(f"  answers, and remembers nothing of: {names}", soft_wrap=True)
    skipped(console, (memory,))


def _names(operations: list[str]) -> str:
    more = len(operations) - _NAMES
    return ", ".join(operations[:_NAMES]) + (f" and {more} more" if more > 0 else "")
