"""What ids of one kind share, and what a request with an id is routed by."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.identifiers import mark_of, marks_of
from orchestrator.routing.router import Router


@pytest.mark.parametrize(
    ("identifier", "mark"),
    [
        ("htl_204", "htl_"),
        ("HTL-5", "htl_"),
        ("ord/2026/17", "ord_"),
        ("#a-1", "a_"),
        ("AT482", "a9"),
        ("kl1023", "a9"),
        ("7B", "9a"),
        ("4821", ""),
        ("#118", ""),
        ("12-77", ""),
        ("a3f0b2c1", ""),
        ("", ""),
    ],
)
def test_ids_of_one_kind_share_a_mark(identifier: str, mark: str) -> None:
    """A prefix, or the order of letters and digits; what could be any id has none."""
    assert mark_of(identifier) == mark


def test_each_mark_comes_once() -> None:
    """In the order of the ids."""
    assert marks_of(["AT482", "htl_1", "12", "KL1023"]) == ("a9", "htl_")


def _takes(name: str, parameter: str, example: str) -> dict[str, object]:
    """A function that shows a thing by its id."""
    schema = {"type": "string", "description": "Which one.", "examples": [example]}
    return {
        "name": name,
        "description": "Show one thing.",
        "parameters": {
            "type": "object",
            "properties": {parameter: schema},
            "required": [parameter],
        },
    }


@pytest.mark.parametrize(
    ("request_text", "tool"),
    [
        ("show shp-77", "shipment_get"),
        ("show SHP_12a", "shipment_get"),
        ("show inv_9", "bill_get"),
        ("show LH400", "train_get"),
    ],
)
def test_an_id_tells_which_tool_is_meant(request_text: str, tool: str) -> None:
    """By the examples of the inputs that take one, whatever else the request says."""
    catalog = Catalog.from_functions(
        [
            _takes("bill_get", "number", "inv_4411"),
            _takes("shipment_get", "parcel_id", "shp_20c4"),
            _takes("train_get", "train", "IC512"),
        ]
    )

    assert Router(catalog).route(request_text).tools[0] == tool
