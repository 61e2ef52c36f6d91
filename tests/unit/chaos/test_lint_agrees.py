"""What cannot be cancelled: the linter, which reads, and chaos, which tries, say the same."""

from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.chaos.verdicts.pair_verdict import (
    PairCase,
    flaws_of_contract,
    flaws_of_trial,
)
from orchestrator.chaos.verdicts.report import Flaw
from orchestrator.saga.obligation import ObligationState
from tests.unit.catalog.lint.document_faults import (
    CANCEL,
    POST,
    PREFIX,
    Change,
    nothing_cancels,
    operation,
    put,
    without_reference,
)
from tests.unit.chaos.test_pair_verdict import trial

NOT_UNDONE = {"ORC040", "ORC043", "ORC047"}
"""What both of them can tell of a document that compiles; what it takes to be parked in every
case, ORC044 to ORC046 and ORC055, chaos tells by the reason for which a rollback parked."""


def unchanged(shop: dict[str, Any]) -> None:
    """In a good document all is cancelled."""


def cancels_nothing(shop: dict[str, Any]) -> None:
    """A tool that changes something, and says nothing of how that is cancelled."""
    nothing_cancels("structured-order")(shop)
    del operation(shop, POST)["x-orchet-irreversible"]


def with_a_probe(shop: dict[str, Any]) -> None:
    """The cancel takes the id from the answer, and a probe finds it when there is none."""
    operation(shop, POST)[PREFIX + "args"].pop("client_reference")
    operation(shop, POST)["parameters"] = []


def with_a_key(shop: dict[str, Any]) -> None:
    """Neither a reference nor a probe, but the call can be sent again for its answer."""
    key = operation(shop, POST)["parameters"]
    without_reference(shop)
    operation(shop, POST)["parameters"] = key


def with_an_id_in_its_path(shop: dict[str, Any]) -> None:
    """What was sent says whose order it was, and not which; and there is no probe and no key."""
    without_reference(shop)
    shop["paths"]["/{client_reference}/{order_id}/cancel"] = shop["paths"].pop("/cancel")
    operation(shop, ("/{client_reference}/{order_id}/cancel", "post")).pop("requestBody")
    operation(shop, ("/{client_reference}/{order_id}/cancel", "post"))["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in ("client_reference", "order_id")
    ]
    operation(shop, POST)[PREFIX + "args"]["client_reference"] = "$request.body#/client_reference"


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (unchanged, set()),
        (with_a_probe, set()),
        (with_a_key, set()),
        (nothing_cancels("structured-order"), set()),
        (cancels_nothing, {"ORC040"}),
        (without_reference, {"ORC047"}),
        (with_an_id_in_its_path, {"ORC047"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_both_say_what_is_not_cancelled(
    shop: dict[str, Any], change: Change, codes: set[str]
) -> None:
    """By the same code, about the same tool; neither says it where the other does not."""
    change(shop)

    assert {f.code for f in lint({"shop": shop})} & NOT_UNDONE == codes
    assert {flaw.code for flaw in flaws(shop)} == codes


def test_a_cancel_that_asks_is_told_by_both(shop: dict[str, Any]) -> None:
    """Compiled, a cancel never asks; so chaos sees one only if that ever changes."""
    put(CANCEL, x_orchet_requires_confirmation="structured-order")(shop)
    catalog = Catalog.from_documents({"shop": shop})
    asking = catalog.tool("shop_cancel_order").model_copy(update={"card_type": "structured-order"})
    (flaw,) = flaws_of_contract(catalog.tool("shop_place_order"), asking)

    assert flaw.code == "ORC043"
    assert "ORC043" in {finding.code for finding in lint({"shop": shop})}


def flaws(shop: dict[str, Any]) -> list[Flaw]:
    """What chaos says: by reading, and where an answer was lost and the call was parked."""
    catalog = Catalog.from_documents({"shop": shop})
    tool = catalog.tool("shop_place_order")
    cancel = catalog.tool(tool.compensation.cancel.tool) if tool.compensation is not None else None
    told = list(flaws_of_contract(tool, cancel))
    if tool.compensation is not None:
        lost: dict[str, Any] = {"case": PairCase.ANSWER_LOST, "cancelled": 0, "cancel": cancel}
        told += flaws_of_trial(trial(ObligationState.PARKED, tool=tool, **lost))
    return [flaw for flaw in told if flaw.code]
