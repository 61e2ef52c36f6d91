"""Tables and meals: deposits by party, prices by portion."""

from __future__ import annotations

from orchestrator.sandbox.currency_amount import find_money, money
from orchestrator.sandbox.playbook import Draft, Playbook

_SERVING_TIMES = ("18:30", "19:00", "19:30", "20:00", "20:30")


def offer_tables(draft: Draft) -> None:
    """A deposit per head, and another time for each table when none was asked for."""
    for item, time in zip(draft.items, _SERVING_TIMES, strict=False):
        item["time"] = draft.arguments.get("time", time)
        item["price"] = money(draft.rng.choice((5, 8, 10))).times(item["party_size"]).to_json()


def offer_meals(draft: Draft) -> None:
    """What a portion costs."""
    for item in draft.items:
        due = money(draft.rng.randrange(850, 2400, 50) / 100, draft.arguments.get("currency"))
        item["price"] = due.to_json()


def charge_meals(draft: Draft) -> None:
    """The price of a portion, as often as ordered."""
    portion = find_money(draft.parents)
    if portion:
        draft.body["price"] = portion.times(draft.body["quantity"]).to_json()


DINING = Playbook(
    behaviours={
        "dining_search_tables": offer_tables,
        "dining_search_meals": offer_meals,
        "dining_order_meal": charge_meals,
    },
    words={
        "restaurant_name": ["Casa Verde", "Tasca da Rua", "The Olive Tree", "Luna", "Old Mill"],
        "meal_name": ["Vegetable curry", "Margherita pizza", "Grilled sea bass", "Ramen", "Tacos"],
        "opening_hours": ["Daily 12:00 to 23:00", "Tuesday to Sunday 18:00 to 24:00"],
    },
)
