"""API tokens and ended sessions in the store."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.adapters.storage.schema import api_tokens, sign_outs
from orchestrator.adapters.storage.sql_sign_in import TOKEN_PREFIX
from orchestrator.adapters.storage.store import Store
from orchestrator.web.sign_in.session_cookies import Sessions

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def store(store_url: str | None, tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path, url=store_url) as made:
        yield made


def create(store: Store) -> tuple[str, str]:
    token, text = store.api_tokens.create(
        subject="ci@example.com",
        scopes={"start", "read"},
        sees_all=False,
        created_by="ana@example.com",
        expires_at=NOW + HOUR,
        now=NOW,
    )
    return token.token_id, text


def test_a_token_is_found_by_its_text_until_it_expires(store: Store) -> None:
    """And by no other text; whoever reads the store's tables can present none."""
    token_id, text = create(store)
    found = store.api_tokens.find(text, now=NOW)

    assert found is not None
    assert (found.token_id, found.subject) == (token_id, "ci@example.com")
    assert found.scopes == ("read", "start")
    for other in (text[:-1], text + "x", text.replace(token_id, "0" * 16), token_id, "", "a" * 999):
        assert store.api_tokens.find(other, now=NOW) is None
    assert store.api_tokens.find(text, now=NOW + HOUR) is None
    secret = text.removeprefix(TOKEN_PREFIX).partition("_")[2]
    rows = store.api_tokens._database.fetch(sa.select(api_tokens))
    assert len(secret) > 40
    assert secret not in str(rows)


def test_a_revoked_token_is_found_no_more(store: Store) -> None:
    """It stays listed; an unknown one cannot be revoked."""
    token_id, text = create(store)

    assert store.api_tokens.revoke(token_id, now=NOW)
    assert store.api_tokens.revoke(token_id, now=NOW + HOUR)
    assert not store.api_tokens.revoke("unknown", now=NOW)
    assert store.api_tokens.find(text, now=NOW) is None
    assert [one.revoked_at for one in store.api_tokens.list()] == [NOW]


def test_a_session_ends_alone_or_with_all_of_its_person(store: Store) -> None:
    """One that begins afterwards is not affected."""
    outs = store.sign_outs
    outs.end_session("s1", now=NOW, until=NOW + HOUR)

    assert outs.has_ended("s1", "ana@example.com", begun_at=NOW + HOUR)
    assert not outs.has_ended("s2", "ana@example.com", begun_at=NOW - HOUR)
    outs.end_sessions_of("Ana@example.com", now=NOW, until=NOW + HOUR)
    assert outs.has_ended("s2", "ana@example.com", begun_at=NOW - HOUR)
    assert not outs.has_ended("s3", "ana@example.com", begun_at=NOW + timedelta(seconds=1))
    assert not outs.has_ended("s4", "bob@example.com", begun_at=NOW - HOUR)


def test_a_sign_in_counts_in_the_second_in_which_all_sessions_ended(store: Store) -> None:
    """The cookie keeps the time of a sign-in as exactly as the store keeps the end."""
    sessions = Sessions(["k" * 32], lifetime=HOUR, idle=HOUR, is_https=False)
    person: dict[str, Any] = {"subject": "ana@example.com", "name": "", "issuer": "i"}

    def begun(milliseconds: int) -> datetime:
        now = NOW.replace(microsecond=milliseconds * 1000)
        session = sessions.begin(**person, groups=(), auth_time=None, now=now)
        read = sessions.read(sessions.written(session), now=now)
        assert read is not None
        return datetime.fromtimestamp(read.begun, UTC)

    at = NOW.replace(microsecond=500_000)
    store.sign_outs.end_sessions_of("ana@example.com", now=at, until=at + HOUR)

    assert store.sign_outs.has_ended("s1", "ana@example.com", begun_at=begun(499))
    assert not store.sign_outs.has_ended("s2", "ana@example.com", begun_at=begun(501))


def test_what_was_ended_is_forgotten_after_its_time(store: Store) -> None:
    """So that the table stays small."""
    store.sign_outs.end_session("s1", now=NOW, until=NOW + HOUR)
    store.sign_outs.end_session("s2", now=NOW + 2 * HOUR, until=NOW + 3 * HOUR)
    rows = store.sign_outs._database.fetch(sa.select(sign_outs))

    assert len(rows) == 1
