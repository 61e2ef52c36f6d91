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
    PAUSE_WORKER = "pause-worker"
    """SIGSTOP of a worker for longer than it may be silent, then SIGCONT."""
    PARTITION_WORKER = "partition-worker"
    """A worker lives and cannot reach the server, or the providers."""
    LOSE_CATALOGS = "lose-catalogs"
    """The catalogs that a worker keeps are deleted, and the worker starts anew."""
    TWO_VERSIONS = "two-versions"
    """One of the workers has the next version of every document."""
    KILL_STORE = "kill-store"
    """SIGKILL of the PostgreSQL that workers share, where they do, which is started again."""
    CHANGE_VAULT = "change-vault"
    """The owner of the vault changes personal values while missions use them."""
    RESTORE_SERVER = "restore-server"
    """Temporal's file is replaced by an older copy, from before what missions have done since."""
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
    LATE_DUPLICATE = "late-duplicate"
    """A request arrives once more, seconds after it was answered."""
    BREACH = "breach"
    """A success status above a page, an error or a body without a reference, done or not done."""
    GATEWAY_404 = "gateway-404"
    """A probe or a cancel is answered with the 404 page of a gateway."""
    REFUSE_REPEAT = "refuse-repeat"
    """The answer to a booking is lost, and its repetition refused with 402 or 422."""
    TRUNCATE = "truncate"
    """A body breaks off before its announced end."""
    CUT_CHUNK = "cut-chunk"
    """A body breaks off within a chunk."""
    OVERCHARGE = "overcharge"
    """A provider takes more than the price it offered."""
    REFUSE_CANCEL = "refuse-cancel"
    """A provider does not take back what it did, for good."""
    CANCEL = "cancel"
    """A person cancels the mission."""
    TERMINATE = "terminate"
    """A mission, its legs or its rollback are terminated."""
    REJECT = "reject"
    """A card is rejected."""
    EXPIRE = "expire"
    """Nobody decides on a card."""

    MODEL = "model"
    """The provider of a model fails, or the model answers what cannot be carried out."""


SERVER_STRIKES = frozenset({ChaosFault.KILL_SERVER, ChaosFault.RESTART_SERVER})
"""Faults of the server that all missions outlive."""
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
