"""The names of the faults that a chaos run can make, and which of them a user asked for."""

from collections.abc import Iterable
from enum import StrEnum

from orchestrator.core.errors import UsageError


class ChaosFault(StrEnum):
    """One kind of fault."""

    KILL_WORKER = "kill-worker"
    """SIGKILL of a worker process, which is then replaced."""
    KILL_SERVER = "kill-server"
    """SIGKILL of Temporal, which is started again on its file."""
    RESTART_SERVER = "restart-server"
    """Temporal is asked to stop, and started again on its file."""
    DROP_BEFORE = "drop-before"
    """A provider closes the connection and has done nothing."""
    DROP_AFTER = "drop-after"
    """A provider does what is asked and closes the connection without an answer."""
    REFUSE = "4xx"
    """A provider refuses."""
    BREAK = "5xx"
    """A provider fails, before or after it did what was asked."""
    BUSY = "429"
    """A provider asks to come back later."""
    LATENCY = "latency"
    """An answer takes long, or longer than the caller waits."""
    DUPLICATE = "duplicate"
    """The provider gets a request twice."""
    REFUSE_CANCEL = "refuse-cancel"
    """A provider does not take back what it did."""
    CANCEL = "cancel"
    """A person cancels the mission."""
    TERMINATE = "terminate"
    """A mission, its legs or its rollback are terminated."""
    REJECT = "reject"
    """A card is rejected."""
    EXPIRE = "expire"
    """Nobody decides on a card."""


MACHINES = frozenset({ChaosFault.KILL_WORKER, ChaosFault.KILL_SERVER, ChaosFault.RESTART_SERVER})
"""Faults that hit all missions under way; every other one is of a single mission."""
ALL = frozenset(ChaosFault)


def parse_faults(text: str) -> frozenset[ChaosFault]:
    """The faults of a list between commas; "all" is all of them, "none" is none.

    Example:
        >>> sorted(parse_faults("5xx, latency"))
        [<ChaosFault.BREAK: '5xx'>, <ChaosFault.LATENCY: 'latency'>]

    Raises:
        UsageError: there is no fault of such a name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return ALL
    if names == ["none"]:
        return frozenset()
    unknown = sorted(set(names) - set(ChaosFault))
    if unknown or not names:
        known = ", ".join(ChaosFault)
        raise UsageError(f"no fault is called {', '.join(unknown) or repr(text)}; known: {known}")
    return frozenset(ChaosFault(name) for name in names)


def format_faults(faults: Iterable[ChaosFault]) -> str:
    """The list that `parse_faults` reads, in the order of their definition."""
    chosen = frozenset(faults)
    if not chosen:
        return "none"
    return "all" if chosen == ALL else ",".join(fault for fault in ChaosFault if fault in chosen)
