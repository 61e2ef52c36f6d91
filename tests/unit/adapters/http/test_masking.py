"""What was sent of a person or a credential is hidden wherever it is repeated."""

import json
import time
from base64 import b64decode, b64encode
from urllib.parse import quote

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
        ("4111 1111 1111", f"no \u0664{11 * chr(0x661)}", "no pii:who"),
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
        ("4111 1111 1111", {"n": 411111111111, "p": 4111.11}, {"n": "pii:who", "p": 4111.11}),
    ],
)
def test_json(value: str, body: JsonValue, masked: JsonValue) -> None:
    """Keys, strings and long numbers; short numbers only under the field's own name."""
    assert Mask([hide_personal(Handle("who"), value)]).json(body) == masked


_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
ADA = "Ada Example Lou"
ZOE = "Zo\u00eb \u00dcnicode"


def _in_json(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (ADA, "Ada%2520Example%2520Lou"),
        (ADA, "Ada%252520Example%252520Lou"),
        (ADA, _in_json("Ada Example Lou")),
        (ADA, json.dumps(_in_json("Ada Example Lou"))[1:-1]),
        (ADA, "".join(f"\\x{ord(c):02X}" for c in "Ada Example Lou")),
        (ADA, "".join(f"%{ord(c):02X}" for c in "Ada Example Lou")),
        (ADA, "".join(f"&#{ord(c)};" for c in "Ada Example Lou")),
        (ADA, "".join(f"&#x{ord(c):04x};" for c in "Ada Example Lou")),
        (ADA, "".join(f"\\{ord(c):03o}" for c in "Ada Example Lou")),
        (ADA, "".join(f"\\u{{{ord(c):x}}}" for c in "Ada Example Lou")),
        (ADA, "\u200b".join("Ada Example Lou")),
        (ADA, "Ada Exam\u00adple Lou"),
        (ADA, "\u2063\ufe0f".join("Ada Example Lou")),
        (ADA, "Ada Example Lou".translate(_WIDE)),
        (ADA, "Ada\r\n\tExample  Lou"),
        (ADA, b"Ada Example Lou".hex()),
        (ADA, b"Ada Example Lou".hex(":").upper()),
        (ADA, b64encode(b"Ada Example Lou").decode()),
        ("Zo\u00eb \u00dcnicode", b64encode("Zo\u00eb \u00dcnicode".encode()).decode().rstrip("=")),
        ("Zo\u00eb \u00dcnicode", "Zoe\u0308 U\u0308nicode"),
        ("Zo\u00eb \u00dcnicode", "Zo%C3%AB+%C3%9Cnicode"),
        ("Zo\u00eb \u00dcnicode", r"Zo\303\253 \303\234nicode"),
        ("O'Brien, Ada", "O&amp;#x27;Brien, Ada"),
        ("O'Brien, Ada", "O''Brien, Ada"),
        ("O'Brien", "O''Brien"),
        ("O'Brien", "O\\\\\\'Brien"),
        ("4111111111111111", "4111 1111 1111 1111"),
        ("4111111111111111", "4111-1111-1111-1111"),
        ("4111 1111 1111 1111", "4111111111111111"),
        ("+44 20 7946 0958", "+442079460958"),
        ("1984-03-12", "1984/03/12"),
        ("sk_live-51H/x+Q9==", quote(b64encode(b"sk_live-51H/x+Q9==").decode(), safe="")),
    ],
)
def test_an_encoded_value_is_hidden(value: str, written: str) -> None:
    """Also between other text, and nothing of it is left."""
    masked = Mask([hide_personal(Handle("who"), value)]).text(f"bad: <{written}> given")

    assert masked == "bad: <pii:who> given"


@pytest.mark.parametrize("before", ["", "u", "us", "use", "user"])
def test_a_value_inside_of_other_base64_is_hidden(before: str) -> None:
    """As a password is in a header for basic authentication, at any alignment."""
    secret = "s3cr3t-of-ours"
    token = b64encode(f"{before}:{secret}:more".encode()).decode()
    masked = Mask([hide_secret("key", secret)]).text(token)

    assert "[secret key]" in masked
    left = "".join(part + "A" * (-len(part) % 4) for part in masked.split("[secret key]"))
    assert secret[1:-1].encode() not in b64decode(left)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Anna", "Savannah and Hannah"),
        ("1234", "1 2 3 4 and 12345"),
        ("007", "0 0 7"),
        ("T-1009", "idT-1009x"),
    ],
)
def test_what_is_short_hides_nothing_else(value: str, text: str) -> None:
    """Numbers and letters that only contain it stay."""
    assert Mask([hide_personal(Handle("who"), value)]).text(text) == text


def test_values_that_overlap_are_hidden_whole() -> None:
    """The rest of the one is not left beside the other; a value in another is not left visible."""

    def masked(first: str, second: str, text: str) -> str:
        hidden = [hide_personal(Handle("a"), first), hide_personal(Handle("b"), second)]
        return Mask(hidden).text(text)

    text = "for Ada Lovelace Byron."
    assert masked("Ada Lovelace", "Lovelace Byron", text) == "for pii:b."
    assert masked("Ada", "Ada Lovelace", "Ada Lovelace and Ada") == "pii:b and pii:a"


@pytest.mark.parametrize("pad", range(930, 1_000, 7))
def test_a_text_is_cut_after_it_is_masked(pad: int) -> None:
    """Where the end falls into a value, no part of that is left."""
    secret = "key_live_51HxQ9aVeryLongSecretTokenValue"
    cut = Mask([hide_secret("token", secret)]).cut("x" * pad + " " + secret, 1_000)

    assert len(cut) <= 1_000
    assert "key" not in cut


_PIECES = ["%5c", "\\", "&amp;", "%25", "%2525", "\\u0041", "A ", "A\u200b", "4 1 ", "&#x41"]


@pytest.mark.parametrize("piece", [*_PIECES, "\u00e9-", "\u0301\u0323"])
def test_masking_is_linear_in_the_text(piece: str) -> None:
    """Four times the text takes about four times as long, whatever it is made of."""
    mask = Mask([hide_personal(Handle("who"), v) for v in ("41414141", "Aaaa", "A" * 400)])

    def least_s(times: int) -> float:
        text, taken = piece * times, []
        for _ in range(3):
            began = time.process_time()
            mask.text(text)
            taken.append(time.process_time() - began)
        return min(taken)

    assert least_s(12_000) / max(least_s(3_000), 1e-3) < 8


def test_secrets_are_hidden_behind_their_names() -> None:
    """The reader learns which credential was repeated; nothing hidden changes nothing."""
    mask, none = Mask([hide_secret("crm_token", "s3cr3t-value")]), Mask([])

    assert mask.text("x s3cr3t-value") == "x [secret crm_token]"
    assert (none.text("a"), none.json({"a": 1})) == ("a", {"a": 1})


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
