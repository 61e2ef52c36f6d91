"""What was sent of a person or a credential is hidden wherever it is repeated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.adapters.http.masking import Mask, hide_personal, hide_secret
from orchestrator.core.pii import Handle


@pytest.mark.parametrize(
    ("value", "text", "masked"),
    [
        ("ada@example.com", "to ADA@Example.com.", "to pii:who."),
        ("ada@example.com", "?q=ada%40example.com", "?q=pii:who"),
        ("Ada Lovelace", "?q=Ada+Lovelace&x", "?q=pii:who&x"),
        ("O'Neill & Co", "<b>O&#x27;Neill &amp; Co</b>", "<b>pii:who</b>"),
        ('say "hi" now', r'{"x": "say \"hi\" now"}', '{"x": "pii:who"}'),
        ("T-100942", "idT-100942x", "idpii:whox"),
        ("Anna", "Savannah, Anna", "Savannah, pii:who"),
        ("Anna", "by_anna_1", "by_pii:who_1"),
        ("M", "Main Menu M", "Main Menu M"),
        ("a.b(c", "aXb(c a.b(c", "aXb(c pii:who"),
        ("O'Neill \"Co\\1", r"no 'O\'Neill \"Co\\1'", "no 'pii:who'"),
        ("O'Neill \"Co\\1", r"\"no 'O\\'Neill \\\"Co\\\\1'\"", "\\\"no 'pii:who'\\\""),
        ("ada b@example.com", "?q=ada%20b@example.com", "?q=pii:who"),
        ("Zoë Ünicode", r"b'Zo\xeb \xdcnicode'", "b'pii:who'"),
        ("Zoë Ünicode", "Zo&#235; &#xDC;nicode", "pii:who"),
    ],
)
def test_text(value: str, text: str, masked: str) -> None:
    """In any case and encoding; short values only as words; the shortest not in text."""
    assert Mask([hide_personal(Handle("who"), value)]).text(text) == masked


@pytest.mark.parametrize(
    ("value", "body", "masked"),
    [
        ("19840312", {"born": 19840312}, {"born": "pii:who"}),
        ("M", {"who": "M", "terminal": "M"}, {"who": "pii:who", "terminal": "M"}),
        ("42", {"who": 42, "seats": 42}, {"who": "pii:who", "seats": 42}),
        (
            "T-100942",
            [{"T-100942": ["T-100942", None, True]}],
            [{"pii:who": ["pii:who", None, True]}],
        ),
        ("1234", {"amount": 1234, "text": "1234"}, {"amount": 1234, "text": "pii:who"}),
    ],
)
def test_json(value: str, body: JsonValue, masked: JsonValue) -> None:
    """Keys, strings and long numbers; short numbers only under the field's own name."""
    assert Mask([hide_personal(Handle("who"), value)]).json(body) == masked


def test_the_longer_value_is_hidden_first() -> None:
    """A value that contains another one is not left half visible."""
    mask = Mask(
        [hide_personal(Handle("first"), "Ada"), hide_personal(Handle("full"), "Ada Lovelace")]
    )

    assert mask.text("Ada Lovelace and Ada") == "pii:full and pii:first"


def test_secrets_are_hidden_behind_their_names() -> None:
    """The reader learns which credential was repeated."""
    assert Mask([hide_secret("crm_token", "s3cr3t-value")]).text("x s3cr3t-value") == (
        "x [secret crm_token]"
    )


def test_nothing_hidden_changes_nothing() -> None:
    """Without hidden values text and JSON are as they were."""
    mask = Mask([])

    assert mask.text("a") == "a"
    assert mask.json({"a": 1}) == {"a": 1}


def test_a_cause_that_holds_a_value_is_noticed() -> None:
    """Also when it is deep in the chain."""
    mask = Mask([hide_secret("s", "s3cr3t-value")])
    deep = ValueError("Illegal header value b's3cr3t-value'")
    shallow = RuntimeError("failed")
    shallow.__cause__ = deep

    assert not mask.is_absent_from(shallow)
    assert mask.is_absent_from(RuntimeError("failed"))


@settings(deadline=None)
@given(st.text(min_size=8), st.text(), st.text())
def test_a_long_value_never_survives(value: str, before: str, after: str) -> None:
    """Whatever stands around it."""
    masked = Mask([hide_personal(Handle("f"), value)]).text(before + value + after)

    assert value not in masked.replace("pii:f", "\0") or value in "\0"
