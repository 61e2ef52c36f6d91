"""The faults of a chaos run, and the list in which a user selects them."""

from collections.abc import Iterable
from enum import StrEnum

from orchestrator.core.errors import UsageError


class ChaosFault(StrEnum):
    """A kind of fault."""

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
    """The stored catalogs are deleted, and a worker is restarted."""
    TWO_VERSIONS = "two-versions"
    """A worker has the next version of every document."""
    KILL_STORE = "kill-store"
    """SIGKILL of the workers' shared PostgreSQL, which is started again."""
    CHANGE_VAULT = "change-vault"
    """The owner of the vault changes personal values while missions use them."""
    RESTORE_SERVER = "restore-server"
    """Temporal's file is replaced by an older copy."""
    DROP_BEFORE = "drop-before"
    """A provider closes the connection without performing the request."""
    DROP_AFTER = "drop-after"
    """A provider performs the request and closes the connection without an answer."""
    REFUSE = "4xx"
    """A provider refuses."""
    BREAK = "5xx"
    """A provider fails, before or after it performed the request."""
    BUSY = "429"
    """A provider asks for a later attempt."""
    LATENCY = "latency"
    """An answer is late, perhaps later than the caller waits."""
    DUPLICATE = "duplicate"
    """The provider gets a request twice."""
    LATE_DUPLICATE = "late-duplicate"
    """A request arrives again, seconds after its answer."""
    BREACH = "breach"
    """A success status with a page, an error or no reference, performed or not."""
    ODD = "odd-answer"
    """A true answer has an oddity, or an answer contradicts the effect.

    A cancel denies or refuses an effect that it had, or meets a version that has moved; a probe
    finds a booking late; a 403 limits the rate.
    """
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
    """A provider refuses cancels for good."""
    CANCEL = "cancel"
    """A person cancels the mission."""
    TERMINATE = "terminate"
    """A mission or its rollback is terminated."""
    RESET = "reset"
    """An operator resets a mission to an earlier point of its history."""
    REJECT = "reject"
    """A card is rejected."""
    EXPIRE = "expire"
    """Nobody decides on a card."""

    MODEL = "model"
    """The provider of a model fails, or the model's answer is unusable."""


SERVER_STRIKES = frozenset({ChaosFault.KILL_SERVER, ChaosFault.RESTART_SERVER})
"""Faults of the server that all missions outlive."""
ALL = frozenset(ChaosFault)


def parse_faults(text: str) -> frozenset[ChaosFault]:
    """Return the faults of a comma-separated list; "all" and "none" are lists too.

    Example:
        >>> sorted(parse_faults("5xx, latency"))
        [<ChaosFault.BREAK: '5xx'>, <ChaosFault.LATENCY: 'latency'>]

    Raises:
        UsageError: a name is unknown.
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
    """Return the list that `parse_faults` reads, in the order of definition."""
    chosen = frozenset(faults)
    if not chosen:
        return "none"
    return "all" if chosen == ALL else ",".join(fault for fault in ChaosFault if fault in chosen)
