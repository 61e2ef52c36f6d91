"""Which channels get a notice, and what a mistake in the configuration says."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import DocumentUnreadable
from orchestrator.settings import load_notice_rules
from tests.unit.adapters.notices.notices import HOOK, notice, rules


def channels(routes: list[dict[str, Any]], **changes: Any) -> list[tuple[str, ...]]:
    made = rules(routes=routes)
    return [one.channels for one in made.deliveries(notice(**changes))]


def test_a_route_takes_what_all_its_patterns_match() -> None:
    route = {
        "channels": ["ops"],
        "card_types": ["structured-*"],
        "tools": ["flight_*"],
        "requesters": ["*@EXAMPLE.com"],
    }

    assert channels([route]) == [("ops",)]
    assert channels([route], tool="hotel_book_room") == []
    assert channels([route], card_type="other") == []
    assert channels([route], requester="eve@elsewhere.org") == []


def test_every_matching_route_delivers_and_no_channel_twice() -> None:
    routes = [{"channels": ["ops", "chat"]}, {"channels": ["chat"]}, {"channels": ["ops", "audit"]}]

    assert channels(routes) == [("ops", "chat")]
    assert channels(routes, state="approved") == [("ops", "chat"), ("audit",)]
    waiting = rules(routes=[{"channels": ["ops"], "next_after": 30}, {"channels": ["chat"]}])
    waits = [one.next_after for one in waiting.deliveries(notice())]
    assert waits == [timedelta(seconds=30), timedelta(minutes=5)]


def test_a_channel_gets_only_its_events() -> None:
    """Links lead to the inbox."""
    route = {"channels": ["audit", "ops"]}

    assert channels([route]) == [("ops",)]
    assert channels([route], state="rejected") == [("audit", "ops")]
    assert rules().link(notice()) == "https://inbox.example.com/cards/trip-1.1-flights.2"
    assert rules(inbox="").link(notice()) == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ("routes: [{channels: [nowhere]}]", "route 1 names 'nowhere', which is no channel"),
        ("routes: [{channels: [ops, ops]}]", "names a channel twice"),
        ("routes: [{channels: [ops], tool: [x]}]", "routes.0.tool is no part of"),
        ("routes: []", "routes: "),
        ("slack: {by_email: true}", "by_email needs email_domains"),
        ("inbox: example.com", "inbox: give the http:// or https:// URL"),
        ("next_after: 0", "next_after: "),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, changes: str, sentence: str) -> None:
    whole = {
        "channels": "channels: {ops: {webhook: 'https://h.example.com/x', secrets: [hook]}}",
        "routes": "routes: [{channels: [ops]}]",
    }
    whole[changes.partition(":")[0]] = changes
    file = tmp_path / "notices.yaml"
    file.write_text("\n".join(whole.values()), encoding="utf-8")

    with pytest.raises(DocumentUnreadable) as refused:
        load_notice_rules(file)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["ftp://h.example.com", "https://me:pw@h.example.com/", "h.example.com", "https://h/#x"]
)
def test_an_address_is_one_that_can_be_called(url: str) -> None:
    with pytest.raises(ValueError, match=r"webhook|https"):
        rules(channels={"ops": {**HOOK, "webhook": url}})
    with pytest.raises(ValueError, match="add slack:"):
        rules(slack=None)
