"""The value that is sent is the one that a handle means, whatever the vault was given since."""

import pytest

from orchestrator.adapters.http.pinning import pin_arguments, read_values
from orchestrator.core.errors import ArgumentsInvalid, PiiGone, PiiMissing
from orchestrator.core.pii import Handle
from orchestrator.testing import MemoryPii


def test_a_later_value_is_not_sent_for_an_earlier_one() -> None:
    """The owner's and the mission's alike; a handle without a version means the current one."""
    vault = MemoryPii({"name": "Ada"})
    ada = vault.current("name")
    assert ada is not None
    vault.put("name", "Grace")
    own = vault.bring("m", {"name": "Alice"}, claim="1")["name"]
    vault.bring("m", {"name": "Bob"}, claim="2")

    sent = read_values("book", [ada, own, Handle("name")], vault, mission_id="m")

    assert sent == {ada: "Ada", own: "Alice", Handle("name"): "Grace"}


def test_a_pinned_handle_stays_pinned() -> None:
    """Prepared again, after an amendment or a second asking, it means whom it meant before."""
    vault = MemoryPii({"name": "Ada"})
    ada = vault.current("name")
    assert ada is not None
    vault.put("name", "Grace")
    own = vault.bring("m", {"name": "Alice"}, claim="1")["name"]

    again = pin_arguments({"who": str(ada)}, [ada], vault, mission_id="m", brought=[own])

    assert again.arguments == {"who": str(ada)}


def test_what_cannot_be_sent_says_why() -> None:
    """Never stored, gone, or another mission's."""
    vault = MemoryPii()
    foreign = vault.bring("other", {"name": "Bob"}, claim="1")["name"]
    with pytest.raises(PiiMissing, match="orchestrator pii set"):
        read_values("book", [Handle("name")], vault, mission_id="m")
    with pytest.raises(PiiGone, match="no longer holds"):
        read_values("book", [Handle("name", "0" * 32)], vault, mission_id="m")
    for mission_id in ("m", ""):
        with pytest.raises(ArgumentsInvalid, match="another mission"):
            read_values("book", [foreign], vault, mission_id=mission_id)
