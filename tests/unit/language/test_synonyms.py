"""Words that stand for each other, and words for kinds of things."""

import pytest

from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import stem


@pytest.mark.parametrize(
    ("word", "other"), [("car", "vehicle"), ("paid", "pay"), ("wrote", "say"), ("bin", "trash")]
)
def test_words_of_a_group_stand_for_each_other(word: str, other: str) -> None:
    """Irregular forms of a verb among them."""
    assert stem(other) in synonyms_of(stem(word))
    assert stem(word) in synonyms_of(stem(other))


@pytest.mark.parametrize(
    ("kind", "wider"),
    [("pizza", "food"), ("hostel", "hotel"), ("cold", "weather"), ("spreadsheet", "file")],
)
def test_a_kind_of_thing_is_called_by_the_wider_word_and_not_the_other_way(
    kind: str, wider: str
) -> None:
    """Who asks for a pizza asks for food; who asks for food means no pizza."""
    assert stem(wider) in synonyms_of(stem(kind))
    assert stem(kind) not in synonyms_of(stem(wider))


def test_kinds_of_a_thing_do_not_stand_for_each_other() -> None:
    """Nobody who asks for sushi wants a burger."""
    assert "burger" not in synonyms_of("sushi")
