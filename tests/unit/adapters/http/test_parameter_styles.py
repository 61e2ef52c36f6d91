"""OpenAPI's parameter styles, by the table of the specification."""

import pytest
from pydantic import JsonValue

from orchestrator.adapters.http.parameter_styles import path_segment, query_parts, unwritable_part

_LIST: JsonValue = ["blue", "black", "brown"]
_OBJECT: JsonValue = {"R": 100, "G": 200, "B": 150}


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, _LIST, "blue,black,brown"),
        ("simple", False, _OBJECT, "R,100,G,200,B,150"),
        ("simple", True, _LIST, "blue,black,brown"),
        ("simple", True, _OBJECT, "R=100,G=200,B=150"),
        ("label", False, "", "."),
        ("label", False, "blue", ".blue"),
        ("label", False, _LIST, ".blue,black,brown"),
        ("label", False, _OBJECT, ".R,100,G,200,B,150"),
        ("label", True, _LIST, ".blue.black.brown"),
        ("label", True, _OBJECT, ".R=100.G=200.B=150"),
        ("matrix", False, "", ";color"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, _LIST, ";color=blue,black,brown"),
        ("matrix", False, _OBJECT, ";color=R,100,G,200,B,150"),
        ("matrix", True, _LIST, ";color=blue;color=black;color=brown"),
        ("matrix", True, _OBJECT, ";R=100;G=200;B=150"),
        ("simple", False, ["a,b", "c/d"], "a%2Cb,c%2Fd"),
        ("json", False, {"a": [1]}, "%7B%22a%22%3A%5B1%5D%7D"),
    ],
)
def test_path_styles(style: str, explode: bool, value: JsonValue, text: str) -> None:
    """Every cell of the table for path parameters; delimiters inside of values are encoded."""
    assert path_segment("color", value, style=style, explode=explode) == text


@pytest.mark.parametrize(
    ("style", "explode", "value", "parts"),
    [
        ("form", True, "", ["color="]),
        ("form", True, "blue", ["color=blue"]),
        ("form", True, _LIST, ["color=blue", "color=black", "color=brown"]),
        ("form", True, _OBJECT, ["R=100", "G=200", "B=150"]),
        ("form", False, _LIST, ["color=blue,black,brown"]),
        ("form", False, _OBJECT, ["color=R,100,G,200,B,150"]),
        ("spaceDelimited", False, _LIST, ["color=blue%20black%20brown"]),
        ("spaceDelimited", False, _OBJECT, ["color=R%20100%20G%20200%20B%20150"]),
        ("pipeDelimited", False, _LIST, ["color=blue%7Cblack%7Cbrown"]),
        ("pipeDelimited", False, _OBJECT, ["color=R%7C100%7CG%7C200%7CB%7C150"]),
        ("deepObject", True, _OBJECT, ["color%5BR%5D=100", "color%5BG%5D=200", "color%5BB%5D=150"]),
        (
            "deepObject",
            True,
            {"a": {"b": [1, 2]}},
            ["color%5Ba%5D%5Bb%5D%5B0%5D=1", "color%5Ba%5D%5Bb%5D%5B1%5D=2"],
        ),
        (
            "deepObject",
            True,
            [{"tax": ["t"]}, {"price": "p2"}],
            ["color%5B0%5D%5Btax%5D%5B0%5D=t", "color%5B1%5D%5Bprice%5D=p2"],
        ),
        ("deepObject", False, ["a", 2], ["color%5B0%5D=a", "color%5B1%5D=2"]),
        ("deepObject", True, "now", ["color=now"]),
        ("deepObject", True, {"a": [], "b": {}}, []),
        ("form", True, [{"a": 1}, "b"], ["color%5B0%5D%5Ba%5D=1", "color=b"]),
        ("form", True, {"R": {"x": 1}, "G": [1, 2]}, ["R%5Bx%5D=1", "G%5B0%5D=1", "G%5B1%5D=2"]),
        ("form", False, [{"a": 1}], ["color=%7B%22a%22%3A1%7D"]),
        ("spaceDelimited", True, _LIST, ["color=blue", "color=black", "color=brown"]),
        ("pipeDelimited", True, _LIST, ["color=blue", "color=black", "color=brown"]),
        ("form", True, [], []),
        ("form", False, {}, []),
        ("form", True, "a&b=c d+é", ["color=a%26b%3Dc%20d%2B%C3%A9"]),
        ("json", False, {"a": 1}, ["color=%7B%22a%22%3A1%7D"]),
    ],
)
def test_query_styles(style: str, explode: bool, value: JsonValue, parts: list[str]) -> None:
    """Every cell of the table for query parameters; reserved characters are encoded."""
    assert query_parts("color", value, style=style, explode=explode) == parts


@pytest.mark.parametrize(
    ("value", "explode", "part"),
    [
        ("a/b:c?d@e!f,g", True, "p=a/b:c?d@e!f,g"),
        ("a&b=c#d+e[f]%g h", True, "p=a%26b%3Dc%23d%2Be%5Bf%5D%25g%20h"),
        (["a,b", "c/d"], False, "p=a%2Cb,c%2Fd"),
    ],
)
def test_reserved_characters_are_left_where_the_document_allows_them(
    value: JsonValue, explode: bool, part: str
) -> None:
    """Those alone that no reader of a query takes for its own, and none that divides elements."""
    assert query_parts("p", value, style="form", explode=explode, reserved=True) == [part]


@pytest.mark.parametrize(
    ("style", "value"),
    [
        ("deepObject", {"a][b": 1}),
        ("deepObject", [{"a": {"b[": 1}}]),
        ("form", [{"]": 1}]),
        ("form", {"a": {"[b]": 1}}),
    ],
)
def test_names_with_brackets_cannot_stand_between_brackets(style: str, value: JsonValue) -> None:
    """They would be read as something nested otherwise."""
    found = unwritable_part(value, location="query", style=style, explode=True)

    assert found == "a bracket"
