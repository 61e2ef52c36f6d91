"""Words by their pieces."""

from orchestrator.routing.indexes.spelling import Spelling, pieces

WORDS = ("translate", "translation", "weather", "rain")


def spelling() -> Spelling:
    """Four words, each used once in ten texts."""
    return Spelling(WORDS, [1] * len(WORDS), 10)


def test_pieces_are_runs_of_three_and_four_letters_with_the_edges() -> None:
    """Beginnings and ends are pieces of their own; each counts once."""
    assert pieces("rain") == ("^ra", "rai", "ain", "in$", "^rai", "rain", "ain$")
    assert len(set(pieces("aaaaaaa"))) == len(pieces("aaaaaaa"))
    assert pieces("") == ()


def test_words_of_one_root_are_alike() -> None:
    """And words with nothing in common are not."""
    scores, lengths = spelling().scores([["translator"], ["weather"]])

    assert (scores[0, :2] > 0).all() and not scores[0, 2:].any()
    assert scores[1, 2] > 0 == scores[1, 3]
    assert (lengths > 0).all()


def test_a_word_is_as_long_as_its_product_with_itself() -> None:
    """So that a cosine of 1 means the same word."""
    known = spelling()
    scores, lengths = known.scores([["weather"]])

    assert abs(scores[0, 2] - lengths[0] ** 2) < 1e-9
    assert abs(known.squares[2] - lengths[0] ** 2) < 1e-9


def test_no_words_are_like_nothing() -> None:
    """Nor is a word whose pieces nobody has."""
    scores, lengths = spelling().scores([[], ["xyz"]])

    assert not scores.any()
    assert not lengths.any()
