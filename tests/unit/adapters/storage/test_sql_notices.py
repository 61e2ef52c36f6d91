"""Records of deliveries, and observations of missions, in the store."""

from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.core.errors import ObservationMissing
from orchestrator.messages.notice import Notice, NoticeEvent, notice_of_records
from tests.unit.adapters.storage.used_grants import OpenStore

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def notice(notice_id: str = "msg_1", event: NoticeEvent = "card.opened") -> Notice:
    return Notice(
        notice_id=notice_id,
        event=event,
        at=NOW,
        mission_id="m",
        wait_id="m.1-leg.1",
        digest="d",
        title="secret title",
    )


def test_attempts_are_counted_until_one_succeeds(open_store: OpenStore) -> None:
    """The first attempt sees none before it; a delivered notice stays so whatever comes later."""
    notices = open_store().notices
    before = [notices.attempt(notice(), "ops").attempts for _ in range(3)]
    notices.end("msg_1", "ops", "waiting", error="answered 500")
    waiting = notices.one("msg_1", "ops")
    notices.end("msg_1", "ops", "delivered", receipt="C1:1.2")
    notices.end("msg_1", "ops", "failed", error="too late")
    done = notices.one("msg_1", "ops")

    assert before == [0, 1, 2]
    assert waiting is not None
    assert (waiting.state, waiting.attempts, waiting.error) == ("waiting", 3, "answered 500")
    assert done is not None
    assert (done.state, done.receipt, done.error) == ("delivered", "C1:1.2", "")


def test_a_card_knows_how_its_notice_stands(open_store: OpenStore) -> None:
    notices = open_store().notices
    stands = []

    def look() -> None:
        records = notices.of_waits(["m.1-leg.1", "other"])
        assert records["other"] == ()
        stands.append(notice_of_records(records["m.1-leg.1"]).state)

    look()
    notices.attempt(notice(), "ops")
    notices.end("msg_1", "ops", "waiting", error="answered 500")
    look()
    notices.end("msg_1", "ops", "failed", error="answered 500")
    notices.attempt(notice("msg_2", "card.reminded"), "ops")
    look()
    notices.attempt(notice(), "chat")
    notices.end("msg_1", "chat", "delivered")
    look()

    assert stands == ["none", "waiting", "failed", "delivered"]


def test_lists_have_the_newest_first_and_no_text_of_a_card(open_store: OpenStore) -> None:
    notices = open_store().notices
    for number in range(3):
        notices.attempt(notice(f"msg_{number}"), "ops")
    notices.end("msg_1", "ops", "failed", error="gone")
    listed = notices.listed()

    assert {one.notice_id for one in listed} == {"msg_0", "msg_1", "msg_2"}
    assert listed[0].notice_id == "msg_1"
    assert [one.notice_id for one in notices.listed(state="failed")] == ["msg_1"]
    assert notices.listed(since=datetime.now(UTC) + timedelta(hours=1)) == []
    assert "secret title" not in str(listed)
    assert notices.remove_before(datetime.now(UTC) + timedelta(hours=1)) == 3


def test_a_channel_is_disabled_until_it_has_another_address(open_store: OpenStore) -> None:
    notices = open_store().notices
    notices.disable("ops", "https://a.example.com/secret", "answered 410")
    notices.disable("ops", "https://a.example.com/secret", "again")
    off = notices.disabled("ops", "https://a.example.com/secret")

    assert off is not None
    assert off.why == "answered 410"
    assert notices.disabled("ops", "https://b.example.com/") is None
    assert [one.channel for one in notices.all_disabled()] == ["ops"]
    notices.enable("ops")
    assert notices.all_disabled() == []


@pytest.mark.parametrize("mission_id", ["m-2", "../m-1", ""])
def test_a_piece_is_kept_once_and_of_one_mission(open_store: OpenStore, mission_id: str) -> None:
    """The same key again changes nothing: whoever keeps it after a death keeps the same.

    Another mission does not read it, whatever its id is; the error says where it was looked.
    """
    store = open_store()
    for piece in (b"first\x00\xff", b"again"):
        store.observations.put("m-1", "k", piece)

    assert store.observations.get("m-1", "k") == b"first\x00\xff"
    assert open_store().observations.get("m-1", "k") == b"first\x00\xff"
    with pytest.raises(ObservationMissing) as missing:
        store.observations.get(mission_id, "k")
    assert store.place in str(missing.value)


def test_a_mission_is_purged_alone(store: Store) -> None:
    """All of it goes, any number of times; the others stay."""
    seen = store.observations
    assert seen.missions() == {}
    seen.put("m-1", "k", b"first")
    seen.put("m/2", "k", b"second")
    assert set(seen.missions()) == {"m-1", "m/2"}

    seen.purge("m-1", "unknown")
    seen.purge("m-1")

    assert set(seen.missions()) == {"m/2"}
    assert seen.get("m/2", "k") == b"second"
    with pytest.raises(ObservationMissing):
        seen.get("m-1", "k")
