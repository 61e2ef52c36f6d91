"""OpenAPI Overlay 1.0."""

import copy
from typing import Any

import pytest

from orchestrator.catalog.overlay import apply_overlay, apply_overlays, parse_overlay
from orchestrator.errors import DocumentInvalid
from orchestrator.record import JsonObject

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "paths": {
        "/a": {
            "get": {"summary": "A", "tags": ["x"], "parameters": [{"name": "p"}, {"name": "q"}]}
        },
        "/b": {"get": {"summary": "B"}, "post": {"summary": "C"}},
    },
}


def applied(*actions: dict[str, Any], document: JsonObject = DOCUMENT) -> Any:
    content: JsonObject = {"overlay": "1.0.0", "info": {}, "actions": list(actions)}
    return apply_overlay(document, parse_overlay("o.yaml", content))


def test_an_update_is_merged_into_every_place_that_is_selected() -> None:
    """Objects merge recursively; what was there and is not named stays."""
    result = applied({"target": "$.paths.*.get", "update": {"x-orchet-tool": True}})

    assert result["paths"]["/a"]["get"]["x-orchet-tool"] is True
    assert result["paths"]["/b"]["get"] == {"summary": "B", "x-orchet-tool": True}
    assert result["paths"]["/b"]["post"] == {"summary": "C"}


def test_lists_are_appended_to() -> None:
    """Inside a merge by the update's elements, as a target by the update itself."""
    result = applied(
        {"target": "$.paths['/a'].get", "update": {"tags": ["y"]}},
        {"target": "$.paths['/a'].get.parameters", "update": {"name": "r"}},
    )

    assert result["paths"]["/a"]["get"]["tags"] == ["x", "y"]
    assert [p["name"] for p in result["paths"]["/a"]["get"]["parameters"]] == ["p", "q", "r"]


def test_removing_takes_all_that_is_selected() -> None:
    """Several elements of one list go, and whole paths."""
    result = applied(
        {"target": "$.paths['/a'].get.parameters[?@.name=='p' || @.name=='q']", "remove": True},
        {"target": "$.paths['/b']", "remove": True, "update": {"ignored": 1}},
    )

    assert result["paths"] == {"/a": {"get": {"summary": "A", "tags": ["x"], "parameters": []}}}


def test_actions_see_what_earlier_ones_did() -> None:
    """A list of actions is a sequence."""
    result = applied(
        {"target": "$.paths", "update": {"/c": {"get": {}}}},
        {"target": "$.paths['/c'].get", "update": {"summary": "new"}},
    )

    assert result["paths"]["/c"] == {"get": {"summary": "new"}}


def test_what_selects_nothing_changes_nothing() -> None:
    """As the standard says."""
    assert applied({"target": "$.paths['/z'].get", "update": {"a": 1}}) == DOCUMENT


def test_the_document_given_is_left_alone() -> None:
    """Overlays make a copy."""
    before = copy.deepcopy(DOCUMENT)

    applied(
        {"target": "$", "update": {"info": {"title": "t"}}}, {"target": "$..get", "remove": True}
    )

    assert before == DOCUMENT


def test_an_empty_place_in_an_update_deletes_nothing() -> None:
    """A bare `paths:` in a structured overlay is no null."""
    assert applied({"target": "$", "update": {"paths": None}}) == DOCUMENT


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"target": "$.paths['/a'].get.summary", "update": "text"}, "does not fit"),
        ({"target": "$.paths", "update": [1]}, "does not fit"),
        ({"target": "$", "remove": True}, "whole document"),
    ],
)
def test_an_update_that_does_not_fit_is_refused(action: dict[str, Any], reason: str) -> None:
    """The error names the overlay and the action."""
    with pytest.raises(DocumentInvalid, match=reason) as refused:
        applied(action)

    assert (refused.value.document, refused.value.pointer) == ("o.yaml", "/actions/0")


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ({}, ""),
        ({"overlay": "2.0.0", "actions": []}, "/overlay"),
        ({"overlay": "1.0.0"}, ""),
        ({"overlay": "1.0.0", "actions": {}}, "/actions"),
        ({"overlay": "1.0.0", "actions": [{"update": {}}]}, "/actions/0"),
        ({"overlay": "1.0.0", "actions": [{"target": "paths"}]}, "/actions/0/target"),
    ],
)
def test_what_is_no_overlay_is_refused(content: dict[str, Any], pointer: str) -> None:
    """Before anything is applied."""
    with pytest.raises(DocumentInvalid) as refused:
        parse_overlay("o.yaml", content)

    assert refused.value.pointer == pointer


def test_extends_chooses_the_document() -> None:
    """By the stem of its file; without it every document is meant."""
    action: JsonObject = {"target": "$", "update": {"x": 1}}
    content: JsonObject = {"overlay": "1.0.1", "extends": "./b.yaml", "actions": [action]}

    result = apply_overlays({"a": {}, "b": {}}, [parse_overlay("o.yaml", content)])

    assert result == {"a": {}, "b": {"x": 1}}


def test_an_overlay_for_a_document_that_was_not_loaded_is_refused() -> None:
    """It would silently expose nothing."""
    content: JsonObject = {"overlay": "1.0.0", "extends": "crm.yaml", "actions": []}

    with pytest.raises(DocumentInvalid, match=r"crm\.yaml"):
        apply_overlays({"a": {}}, [parse_overlay("o.yaml", content)])
