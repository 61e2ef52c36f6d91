"""Choosing among the things that were found."""

from datetime import UTC, datetime

import pytest

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.answers import Item, read_items
from orchestrator.planning.rules.ranking import Wish, rank_items
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def things(*fields: JsonObject) -> list[Item]:
    return [i for i in read_items({"things": list(fields)}) if i.label]


def wish(
    text: str = "take one",
    *,
    stated: JsonObject | None = None,
    strict: frozenset[str] = frozenset(),
    named: tuple[str, ...] = (),
    budget: Money | None = None,
) -> Wish:
    return Wish(
        utterance=read_utterance(text, now=NOW),
        stated=stated or {},
        strict=strict,
        named=named,
        dull=frozenset(),
        buying=True,
        budget_left=budget,
    )


def euros(amount: float) -> JsonObject:
    return {"amount": amount, "currency": "EUR"}


def order(items: list[Item], asked: Wish) -> list[object]:
    return [item.fields["n"] for item in rank_items(items, asked).items]


PRICED = things({"n": 1, "price": euros(30)}, {"n": 2, "price": euros(10)}, {"n": 3})


def test_cheapest_comes_first_and_the_unpriced_last() -> None:
    """Without a preference, price decides."""
    assert order(PRICED, wish()) == [2, 1, 3]


def test_first_is_taken_as_listed() -> None:
    """The first one is the first one, whatever it costs."""
    assert order(PRICED, wish("take the first one")) == [1, 2, 3]


def test_limit_of_the_clause_drops_what_costs_more() -> None:
    """What the clause allows to be paid leaves the cheap one; what has no price may cost more."""
    assert order(PRICED, wish("take one under 20 EUR")) == [2]


@pytest.mark.parametrize(
    "words",
    [
        "under 20 EUR",
        "no more than 20 EUR",
        "up to 20 EUR",
        "20 EUR or less",
        "nothing over 20 EUR",
        "and do not pay more than 20 EUR",
        "between 10 and 20 EUR",
    ],
)
def test_a_limit_is_understood_however_it_is_put(words: str) -> None:
    """However it is put; of what has no price nothing is known."""
    ranking = rank_items(PRICED, wish(f"take one {words}"))

    assert [item.fields["n"] for item in ranking.items] == [2]
    assert [item.fields["n"] for item in ranking.unsure] == [3]


def test_what_is_to_cost_more_than_something_does() -> None:
    """A least is a limit too."""
    assert order(PRICED, wish("take one that costs more than 20 EUR")) == [1]


def test_a_limit_in_another_currency_is_a_doubt() -> None:
    """No rates are known: a person chooses."""
    ranking = rank_items(things({"price": euros(3)}), wish("take one under 20 USD"))

    assert len(ranking.items) == 1
    assert "20.00 USD" in ranking.doubt
    assert "priced in EUR" in ranking.doubt


def test_a_limit_that_nothing_can_be_held_against_is_said() -> None:
    """A price that is not stated is not within it."""
    ranking = rank_items(things({"n": 1}), wish("take one under 20 EUR"))

    assert ranking.refusal == ""
    assert "20.00 EUR" in ranking.doubt


def test_nothing_within_the_limit_says_so() -> None:
    """The refusal names the limit."""
    ranking = rank_items(things({"price": euros(30)}), wish("take one under 20 EUR"))

    assert ranking.items == ()
    assert "20.00 EUR" in ranking.refusal


def test_budget_drops_what_does_not_fit_it() -> None:
    """What is left of the budget is a limit too, and another currency does not fit it."""
    left = Money.model_validate(euros(20))
    foreign = things({"n": 1, "price": {"amount": 1, "currency": "USD"}})

    assert order(PRICED, wish(budget=left)) == [2, 3]
    assert "budget" in rank_items(foreign, wish(budget=left)).refusal


def test_latest_comes_first_by_its_date() -> None:
    """A preference outranks the price."""
    files = things(
        {"n": 1, "modified_at": "2026-11-02T09:00:00Z"},
        {"n": 2, "modified_at": "2026-11-20T09:00:00Z"},
    )

    assert order(files, wish("share the latest")) == [2, 1]
    assert order(files, wish("share the oldest")) == [1, 2]


def test_best_rated_comes_first() -> None:
    """Ratings are compared as numbers."""
    assert order(
        things({"n": 1, "rating": 7}, {"n": 2, "rating": 9.1}), wish("the best rated")
    ) == [2, 1]


def test_words_of_the_request_outrank_the_price() -> None:
    """What bears the request's own words is meant."""
    rooms = things({"n": 1, "kind": "team", "price": euros(9)}, {"n": 2, "price": euros(1)})

    assert order(rooms, wish("write to the team")) == [1, 2]


def test_value_that_differs_comes_behind() -> None:
    """A table at another time is the second choice, even if it is cheaper."""
    tables = things(
        {"n": 1, "time": "19:30", "price": euros(1)}, {"n": 2, "time": "20:00", "price": euros(5)}
    )

    assert order(tables, wish(stated={"time": "20:00"})) == [2, 1]


def test_strict_value_that_differs_is_not_taken() -> None:
    """A French restaurant is no second choice for an Italian one."""
    ranking = rank_items(
        things({"cuisine": "french"}),
        wish(stated={"cuisine": "italian"}, strict=frozenset({"cuisine"})),
    )

    assert ranking.items == ()
    assert "cuisine italian" in ranking.refusal


def test_thing_without_the_name_is_not_taken() -> None:
    """The user named it: another folder will not do."""
    folders = things({"n": 1, "folder_name": "Travel"}, {"n": 2, "folder_name": "Archive 2026"})

    assert order(folders, wish(named=("Archive",))) == [2]
    assert "'Budget'" in rank_items(folders, wish(named=("Budget",))).refusal


def test_gone_things_are_left_out_while_others_exist() -> None:
    """A cancelled booking is not what is meant, unless there is nothing else."""
    bookings = things({"n": 1, "status": "cancelled"}, {"n": 2, "status": "confirmed"})

    assert order(bookings, wish()) == [2]
    assert order(bookings[:1], wish()) == [1]


def test_equal_things_are_counted_as_tied() -> None:
    """Whoever may not guess learns that it would be a guess; price does not count."""
    assert rank_items(PRICED, wish()).tied == 3
    assert rank_items(things({"n": 1, "kind": "team"}, {"n": 2}), wish("the team")).tied == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("take the cheapest one", [2, 3, 1]),
        ("take the second cheapest one", [3, 1]),
        ("take the most expensive one", [1, 3, 2]),
        ("take the earliest but one", [3, 1]),
        ("take the latest", [1, 3, 2]),
        ("take the second one", [2, 3]),
        ("take the last one", [1, 3, 2]),
    ],
)
def test_a_place_in_an_order_is_taken(words: str, expected: list[int]) -> None:
    """What stands before it is not meant, what stands after it may follow."""
    found = things(
        {"n": 1, "price": euros(30), "departs": "2026-12-05T09:00:00Z"},
        {"n": 2, "price": euros(10), "departs": "2026-12-03T09:00:00Z"},
        {"n": 3, "price": euros(20), "departs": "2026-12-04T09:00:00Z"},
    )

    assert order(found, wish(words)) == expected


def test_what_cannot_be_compared_is_a_doubt() -> None:
    """The cheapest of two currencies is nobody's to tell; nor the earliest of what has no time."""
    found = things({"n": 1, "price": euros(3)}, {"n": 2, "price": {"amount": 2, "currency": "USD"}})

    assert "EUR and USD" in rank_items(found, wish("take the cheapest")).doubt
    assert "when it is" in rank_items(found, wish("take the earliest")).doubt
    assert rank_items(found, wish("take one")).doubt == ""


def test_a_place_beyond_what_was_found_is_refused() -> None:
    """Two were found: there is no third."""
    found = things({"price": euros(3)}, {"price": euros(4)})

    assert "no number 3" in rank_items(found, wish("take the third cheapest one")).refusal
