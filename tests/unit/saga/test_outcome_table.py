"""What an attempt came to: every status and every transport fault, in one table."""

import pytest

from orchestrator.saga.outcome import OutcomeKind, TransportFault, classify

STATUSES: tuple[tuple[range, OutcomeKind], ...] = (
    (range(100, 200), "unknown"),  # never the answer to a call; 101 would be another protocol's
    (range(200, 300), "succeeded"),
    (range(300, 302), "rejected"),
    (range(302, 304), "unknown"),  # "done, look there" as well as "it is elsewhere"
    (range(304, 400), "rejected"),
    (range(400, 408), "rejected"),
    (range(408, 409), "unknown"),
    (range(409, 425), "rejected"),
    (range(425, 426), "unknown"),
    (range(426, 429), "rejected"),
    (range(429, 430), "unknown"),
    (range(430, 500), "rejected"),
    (range(500, 600), "unknown"),
)

FAULTS: dict[TransportFault, OutcomeKind] = {
    TransportFault.ADDRESS: "rejected",
    TransportFault.NAME: "rejected",
    TransportFault.CONNECT: "rejected",
    TransportFault.CONNECT_TIMEOUT: "rejected",
    TransportFault.TLS: "rejected",
    TransportFault.POOL: "rejected",
    TransportFault.PROXY: "rejected",
    TransportFault.REQUEST: "rejected",
    TransportFault.DEADLINE_BEFORE_SENDING: "rejected",
    TransportFault.SEND: "unknown",
    TransportFault.SEND_TIMEOUT: "unknown",
    TransportFault.PROTOCOL: "unknown",
    TransportFault.READ: "unknown",
    TransportFault.READ_TIMEOUT: "unknown",
    TransportFault.DEADLINE: "unknown",
    TransportFault.ANSWER: "unknown",
    TransportFault.OTHER: "unknown",
}


ROWS = [(status, kind) for statuses, kind in STATUSES for status in statuses]


def test_each_status_has_its_outcome() -> None:
    """A read differs in redirects alone, and a conflict alone can be in progress."""
    assert [status for status, _ in ROWS] == list(range(100, 600))
    assert [(status, classify(status, changes=True)) for status, _ in ROWS] == ROWS
    expected = [(s, "rejected" if 300 <= s < 400 else kind) for s, kind in ROWS]
    assert [(status, classify(status)) for status, _ in ROWS] == expected
    expected = [(status, "unknown" if status == 409 else kind) for status, kind in ROWS]
    assert [(s, classify(s, in_progress=True, changes=True)) for s, _ in ROWS] == expected
    assert classify(404, in_progress=True) == "rejected"


def test_the_table_has_every_fault() -> None:
    """A new one fails here until somebody decides what it means."""
    assert set(FAULTS) == set(TransportFault)


@pytest.mark.parametrize(("fault", "kind"), FAULTS.items())
def test_each_fault_has_its_outcome(fault: TransportFault, kind: OutcomeKind) -> None:
    """From the first byte that is sent on, the provider may have acted."""
    assert classify(fault) == kind
    assert classify(fault, changes=True, in_progress=True) == kind
