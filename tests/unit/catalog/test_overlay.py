"""OpenAPI Overlay 1.0."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.catalog.overlay import apply_overlays, parse_overlay, unmarked
from orchestrator.catalog.source import read_sources
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentInvalid, OverlayWarning
from orchestrator.core.record import JsonObject

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "paths": {
        "/a": {
            "get": {"summary": "A", "tags": ["x"], "parameters": [{"name": "p"}, {"name": "q"}]}
        },
        "/b": {"get": {"summary": "B"}, "post": {"summary": "C"}},
    },
}


INFO: JsonObject = {"title": "Ours", "version": "1"}


def overlay(*actions: dict[str, Any], **fields: Any) -> JsonObject:
    """An overlay document of these actions."""
    return {"overlay": "1.0.0", "info": INFO, "actions": list(actions), **fields}


def applied(*actions: dict[str, Any], document: JsonObject = DOCUMENT) -> Any:
    changes = parse_overlay("o.yaml", overlay(*actions))
    return apply_overlays({"shop": document}, [changes]).documents["shop"]


PATHS: Any = DOCUMENT["paths"]
A, B = PATHS["/a"], PATHS["/b"]
LIST = "$.paths['/a'].get.parameters"


def changed(**get: Any) -> JsonObject:
    """The paths with other fields of `/a`'s get."""
    return {"/a": {"get": {**A["get"], **get}}, "/b": B}


_GET = "$.paths['/a'].get"


@pytest.mark.parametrize(
    ("actions", "paths"),
    [
        ([{"target": "$", "update": {"paths": None}}], {"/a": A, "/b": B}),
        (
            [
                {"target": f"{LIST}[?@.name=='p' || @.name=='q']", "remove": True},
                {"target": "$.paths['/b']", "remove": True, "update": {"ignored": 1}},
            ],
            {"/a": {"get": {**A["get"], "parameters": []}}},
        ),
        # An action sees the result of the one before.
        (
            [
                {"target": "$.paths", "update": {"/c": {"get": {}}}},
                {"target": "$.paths['/c'].get", "update": {"summary": "new"}},
            ],
            {"/a": A, "/b": B, "/c": {"get": {"summary": "new"}}},
        ),
        # Lists are appended to; one is replaced by removing it first.
        (
            [
                {"target": _GET, "update": {"tags": ["y"]}},
                {"target": LIST, "update": {"name": "r"}},
            ],
            changed(tags=["x", "y"], parameters=[*A["get"]["parameters"], {"name": "r"}]),
        ),
        (
            [
                {"target": f"{_GET}.tags", "remove": True},
                {"target": _GET, "update": {"tags": ["z"]}},
            ],
            changed(tags=["z"]),
        ),
        ([{"target": "$.paths[*][?@.tags]", "update": {"summary": "new"}}], changed(summary="new")),
    ],
)
def test_actions_apply_in_order(actions: list[dict[str, Any]], paths: JsonObject) -> None:
    """Each merges into, or removes, all that its target selects; the document given is kept."""
    before = copy.deepcopy(DOCUMENT)

    assert applied(*actions)["paths"] == paths
    assert before == DOCUMENT


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"target": "$.paths['/a'].get.summary", "update": "text"}, "select the object that holds"),
        ({"target": "$.paths['/a'].get.tags[0]", "update": "y"}, "selects a string"),
        ({"target": "$.paths", "update": [1]}, "a list does not fit"),
        ({"target": "$.paths", "update": None}, "null does not fit"),
        ({"target": "$.paths['/a'].get.tags[0]", "remove": True}, "cannot be removed alone"),
        ({"target": "$", "remove": True}, "whole document"),
    ],
)
def test_an_action_that_does_not_fit_is_refused(action: dict[str, Any], reason: str) -> None:
    """The error names the overlay and the action; what selects a primitive cannot update it."""
    with pytest.raises(DocumentInvalid, match=reason) as refused:
        applied(action)

    assert (refused.value.document, refused.value.pointer) == ("o.yaml", "/actions/0")


def test_removing_selects_things_inside_of_each_other() -> None:
    """Removing the outer place removes the inner one as well."""
    nested: JsonObject = {"a": {"x": {"x": 1}, "y": 2}, "b": [{"x": 1}, {"y": 2}, {"x": 3}]}

    assert applied({"target": "$..x", "remove": True}, document=nested) == {
        "a": {"y": 2},
        "b": [{}, {"y": 2}, {}],
    }
    assert applied({"target": "$.b[?@.x]", "remove": True}, document=nested)["b"] == [{"y": 2}]


ACTION: dict[str, Any] = {"target": "$", "update": {}}


@pytest.mark.parametrize(
    ("content", "pointer", "reason"),
    [
        ({}, "", "'overlay' is missing"),
        (overlay(ACTION, overlay="2.0.0"), "/overlay", "Overlay 1.0 document is wanted"),
        (overlay(ACTION, overlay="1.0.x"), "/overlay", "it is '1.0.x'"),
        ({"overlay": "1.0.0", "actions": [ACTION]}, "", "'info' is missing"),
        (overlay(ACTION, info={"title": "t"}), "/info", "'version' is missing"),
        (overlay(ACTION, info={"title": 1, "version": "1"}), "/info/title", "string"),
        (overlay(ACTION, info={**INFO, "licence": "x"}), "/info", "'licence' is no field"),
        (overlay(ACTION, extend="a.yaml"), "", "'extend' is no field"),
        (overlay(ACTION, extends=1), "/extends", "string"),
        ({"overlay": "1.0.0", "info": INFO}, "", "'actions' is missing"),
        (overlay(actions={}), "/actions", "a list is wanted"),
        (overlay(), "/actions", "at least one"),
        (overlay(ACTION, {**ACTION}), "/actions/1", "repeats the action /actions/0"),
        (overlay({"update": {}}), "/actions/0", "'target' is missing"),
        (overlay({"target": "paths"}), "/actions/0/target", "no JSONPath"),
        (overlay({**ACTION, "remove": "yes"}), "/actions/0/remove", "true or false"),
        (overlay({"target": "$", "copy": "$.paths"}), "/actions/0", "came with Overlay 1.1"),
        (overlay({"target": "$", "updates": {}}), "/actions/0", "'updates' is no field"),
    ],
)
def test_what_is_no_overlay_is_refused(content: dict[str, Any], pointer: str, reason: str) -> None:
    """Before anything is applied, with the place and what is wrong there."""
    with pytest.raises(DocumentInvalid, match=reason) as refused:
        parse_overlay("o.yaml", content)

    assert (refused.value.document, refused.value.pointer) == ("o.yaml", pointer)


def test_extensions_and_descriptions_of_an_overlay_are_passed_over() -> None:
    """The standard leaves x-... to others, on the overlay, its info and its actions."""
    action = {"target": "$", "description": "Why.", "update": {"x": 1}, "x-why": "so"}
    content = overlay(action, info={**INFO, "x-team": "ours"})
    content["x-reviewed"] = True
    changes = parse_overlay("o.yaml", content)

    assert apply_overlays({"shop": {}}, [changes]).documents == {"shop": {"x": 1}}


@pytest.mark.parametrize(
    ("fields", "extended"),
    [
        ({}, {"a", "b"}),
        ({"extends": "./b.yaml"}, {"b"}),
        ({"extends": "b.json"}, {"b"}),
        ({"extends": "../apis/b.yaml"}, {"b"}),
        ({"extends": "https://example.com/apis/b.yaml?raw=1"}, {"b"}),
        ({"extends": "%62.yaml"}, {"b"}),
    ],
)
def test_extends_chooses_the_document(fields: dict[str, str], extended: set[str]) -> None:
    """The stem of its file counts, in a path or a URL; without it every document is meant."""
    content = overlay({"target": "$", "update": {"x": 1}}, **fields)

    result = apply_overlays({"a": {}, "b": {}}, [parse_overlay("o.yaml", content)])

    assert {name for name, document in result.documents.items() if document} == extended


def test_overlays_are_applied_in_the_order_given() -> None:
    """The later one has the last word, and sees what the earlier one added."""
    first = parse_overlay("1.yaml", overlay({"target": "$", "update": {"x": {"y": 1}}}))
    second = parse_overlay("2.yaml", overlay({"target": "$.x", "update": {"y": 2}}))

    assert apply_overlays({"a": {}}, [first, second]).documents == {"a": {"x": {"y": 2}}}
    assert apply_overlays({"a": {}}, [second, first]).documents == {"a": {"x": {"y": 1}}}


def test_an_overlay_for_a_document_that_was_not_loaded_is_refused() -> None:
    """Otherwise the overlay would silently expose nothing."""
    content = overlay(ACTION, extends="crm.yaml")

    with pytest.raises(DocumentInvalid, match=r"crm\.yaml"):
        apply_overlays({"a": {}}, [parse_overlay("o.yaml", content)])


def test_actions_that_change_nothing_are_told() -> None:
    """With their place, and where they looked; not what acts in one document of several."""
    content = overlay(
        {"target": "$.paths", "update": {"x": 1}},
        {"target": "$.paths['/z']", "update": {"x": 1}},
        {"target": "$.paths", "description": "only words"},
        {"target": "$.gone", "remove": True},
    )

    idle = apply_overlays({"a": {"paths": {}}, "b": {}}, [parse_overlay("o.yaml", content)]).idle

    assert [str(action) for action in idle] == [
        "o.yaml at /actions/1: $.paths['/z'] selects nothing in a, b",
        "o.yaml at /actions/2: it has neither update nor remove: true, so it changes nothing",
        "o.yaml at /actions/3: $.gone selects nothing in a, b",
    ]


def test_loading_a_catalog_warns_of_actions_that_change_nothing(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    """A path that was mistyped exposes nothing: that is never silent."""
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(shop), encoding="utf-8")
    ours = overlay({"target": "$.paths['/order'].get", "update": {"x-orchet-tool": True}})
    (tmp_path / "ours.yaml").write_text(yaml.safe_dump(ours), encoding="utf-8")

    with pytest.warns(OverlayWarning, match=r"ours\.yaml at /actions/0: .*selects nothing in shop"):
        catalog = Catalog.load(tmp_path / "shop.yaml", overlays=[tmp_path / "ours.yaml"])

    assert len(catalog) == 3


EXAMPLES = Path(__file__).parents[3] / "docs/examples"


def test_the_documented_example_makes_sound_tools_of_a_foreign_document() -> None:
    """Every action has an effect, and the four tools are without errors or warnings.

    A booked visit is cancelled by an id that the probe finds when the answer was lost.
    """
    sources = read_sources([EXAMPLES / "crm.yaml"], [EXAMPLES / "crm-overlay.yaml"])
    catalog = Catalog.from_documents(sources.documents)
    visit = catalog.tool("crm_book_visit")

    assert sources.idle == ()
    assert [f.code for f in lint(sources.documents)] == ["ORC050"]
    assert {name: tool.effect.value for name, tool in catalog.tools.items()} == {
        "crm_book_visit": "obligation",
        "crm_cancel_visit": "cancel",
        "crm_find_customers": "read",
        "crm_find_visit": "read",
    }
    assert visit.compensation is not None
    assert visit.compensation.cancel.arguments == {"visit_id": "$response.body#/visit_id"}
    assert visit.compensation.probe is not None
    assert visit.reference_inputs == ("ref",)
    assert visit.card_type == "crm-visit"
    assert visit.properties["customer_id"]["maxLength"] == 40
    assert "/admin/purge" not in sources.documents["crm"]["paths"]  # type: ignore[operator]  # an object


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
