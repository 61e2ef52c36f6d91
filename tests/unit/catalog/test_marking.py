"""What is said where nothing is marked as a tool yet."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.overlay import apply_overlays, parse_overlay, unmarked
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.record import JsonObject


def shop(**more: Any) -> dict[str, Any]:
    return {"paths": {"/carts": {"post": {}, "get": more}, "/x": {"$ref": "no"}, "/y": None}}


def test_it_counts_shows_three_lines_and_names_the_command() -> None:
    """The lines are an overlay's, for a read of this very document."""
    said = unmarked({"shop": shop()}, [Path("there/shop.yaml"), Path("other.yaml")])

    assert said is not None
    first, *lines, last = said.splitlines()
    assert "2 operations" in first
    assert last.endswith("orchestrator tools suggest there/shop.yaml --out overlay.yaml")

    head = 'overlay: 1.0.0\ninfo: {title: Ours, version: "1"}\n'
    overlay = parse_overlay("ours", load_yaml(head + "\n".join(line[2:] for line in lines)))
    marked = apply_overlays({"shop": shop()}, [overlay]).documents
    assert marked["shop"] == shop(**{"x-orchet-tool": True})
    assert unmarked(marked) is None


@pytest.mark.parametrize("mark", [True, False, "yes"])
def test_nothing_is_said_where_somebody_said_something(mark: Any) -> None:
    """Also not where it is ruled out, or wrong: other words are about that."""
    assert unmarked({"shop": shop(**{"x-orchet-tool": mark})}) is None


def test_documents_without_operations_and_none_at_all() -> None:
    """There is nothing to mark; tools of functions have no documents."""
    assert unmarked({"empty": {"paths": []}}) == (
        "empty: no operation is described, none can be a tool"
    )
    assert unmarked({}) is None


@pytest.mark.parametrize("mark", [None, True])
def test_operations_that_stand_in_another_file_are_counted(mark: bool | None) -> None:
    """A path that refers to another place has the operations of that; the lines mark them there."""
    item: JsonObject = {"get": {} if mark is None else {"x-orchet-tool": mark}}
    split: JsonObject = {
        "paths": {"/a": {"$ref": "#/x-orchet-files/a.yaml"}},
        "x-orchet-files": {"a.yaml": item},
    }

    said = unmarked({"split": split})

    assert (said is None) == (mark is True)
    if said is not None:
        assert "1 operation," in said
        assert "target: $['x-orchet-files']['a.yaml'].get" in said
