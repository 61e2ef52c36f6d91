"""Trimming: answers of any size become small, and keep what later steps need."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.planning.trimming import MOST_CHARACTERS, cut_text, trim_body

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
bodies = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(bodies)
def test_what_is_small_is_kept_as_it_is(body: JsonValue) -> None:
    """Nothing is cut that fits."""
    assert trim_body(body) == body


def test_a_long_list_keeps_its_beginning() -> None:
    """The best offers come first; the body shrinks until it fits."""
    offers: list[JsonValue] = [{"offer_id": f"F-{n}", "fare": "x" * 40} for n in range(3_000)]

    trimmed = trim_body({"search_id": "s1", "offers": offers})

    assert isinstance(trimmed, dict)
    kept = trimmed["offers"]
    assert isinstance(kept, list)
    assert kept
    assert kept == offers[: len(kept)]
    assert len(json.dumps(trimmed)) <= MOST_CHARACTERS


@given(st.integers(1, 60), st.integers(1, 60), st.integers(100, 4_000))
def test_every_property_survives(properties: int, items: int, most: int) -> None:
    """However little room there is, identifiers at the top are never lost."""
    body: dict[str, JsonValue] = {f"id_{n}": f"value-{n}" for n in range(properties)}
    body["rows"] = ["y" * 300] * items

    trimmed = trim_body(body, most=most)

    assert isinstance(trimmed, dict)
    assert {k: v for k, v in trimmed.items() if k != "rows"} == {
        k: v for k, v in body.items() if k != "rows"
    }
    assert "rows" in trimmed


def test_long_texts_keys_and_lists_are_cut_at_every_depth() -> None:
    """A text says that it was longer; keys are a provider's text like any other."""
    rows: JsonValue = [{"seats": [f"{row}{seat}" for seat in range(400)]} for row in range(400)]
    long: JsonValue = {"id": 7, "x" * 100_000: 1}
    trimmed = trim_body({"booking_id": "b1", "terms": "word " * 20_000})

    assert cut_text("  short ", 10) == "short"
    assert cut_text("x" * 20, 10) == "x" * 9 + "…"
    assert isinstance(trimmed, dict)
    assert trimmed["booking_id"] == "b1"
    assert str(trimmed["terms"]).startswith("word word") and str(trimmed["terms"]).endswith("…")
    assert trim_body(long) == {"id": 7}
    for body in (trimmed, trim_body(rows), trim_body({f"key-{n}": n for n in range(100_000)})):
        assert len(json.dumps(body)) <= MOST_CHARACTERS
