"""Files read: YAML as JSON means it, and nothing that could blow up."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.source import read_object, read_sources
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2026-12-03", "2026-12-03"),
        ("a: 2026-12-03T09:30:00Z", "2026-12-03T09:30:00Z"),
        ("a: NO", "NO"),
        ("a: on", "on"),
        ("a: 10:30", "10:30"),
        ("a: 1_000", "1_000"),
        ("a: .inf", ".inf"),
        ("a: 007", 7),
        ("a: 0x1f", 31),
        ("a: -3", -3),
        ("a: 1e3", 1000.0),
        ("a: 'true'", "true"),
        ("a: True", True),
        ("a: ~", None),
        ("a:", None),
    ],
)
def test_scalars_mean_what_json_can_say(text: str, value: Any) -> None:
    """YAML 1.2's core schema: no dates, no sexagesimals, no country that is false."""
    assert load_yaml(text) == {"a": value}


def test_keys_are_strings_as_written() -> None:
    """A status code is a word."""
    assert load_yaml("200: a\ntrue: b\n2026-12-03: c") == {
        "200": "a",
        "true": "b",
        "2026-12-03": "c",
    }


def test_anchors_and_merges_are_understood() -> None:
    """What hand-written documents use to repeat themselves."""
    assert load_yaml("a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\nc: *a") == {
        "a": {"x": 1, "y": 1},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1, "y": 1},
    }


def test_an_alias_bomb_is_refused() -> None:
    """Ten levels of ten aliases would stand for ten thousand million values."""
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
    )

    with pytest.raises(ValueError, match="aliases"):
        load_yaml(bomb)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("x.yaml", "a: [", "line"),
        ("x.yaml", "a: 1\na: 2", "twice"),
        ("x.yaml", "a: &a [*a]", "contains itself"),
        ("x.yaml", "a: !!python/object/apply:os.getcwd []", "tag"),
        ("x.yaml", "[a]: b", "plain text"),
        ("x.yaml", "- a", "no object"),
        ("x.yaml", "", "no object"),
        ("x.yaml", "[" * 5000 + "]" * 5000, "nested too deep"),
        ("x.json", "{", "line 1"),
        ("x.json", '{"a": NaN}', "NaN"),
        ("x.json", '{"a": 1, "a": 2}', "twice"),
        ("x.json", "[" * 200_000, "nested too deep"),
    ],
)
def test_what_is_neither_json_nor_yaml_is_refused(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    """The error names the file and says in one line what is wrong in it."""
    file = tmp_path / name
    file.write_text(text)

    with pytest.raises(DocumentUnreadable, match=reason) as refused:
        read_object(file)

    assert refused.value.path == str(file)
    assert "\n" not in str(refused.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """A binary file with a document's suffix is unreadable, not a crash."""
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00\x01")

    with pytest.raises(DocumentUnreadable):
        read_object(tmp_path / "x.yaml")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("missing.yaml#/A", "cannot be read"),
        ("https://example.com/a.yaml#/A", "URL"),
    ],
)
def test_a_reference_to_a_file_that_is_not_there_is_refused(
    tmp_path: Path, reference: str, reason: str
) -> None:
    """Nothing is fetched, and the error points at the reference."""
    (tmp_path / "a.yaml").write_text(f"openapi: 3.1.0\npaths: {{/x: {{$ref: '{reference}'}}}}")

    with pytest.raises(DocumentInvalid, match=reason) as refused:
        read_sources([tmp_path / "a.yaml"])

    assert refused.value.pointer == "/paths/~1x/$ref"


def test_files_that_refer_to_each_other_are_taken_in_once(tmp_path: Path) -> None:
    """References back to the document become local, and a circle of files ends."""
    (tmp_path / "a.yaml").write_text(
        "openapi: 3.1.0\nx: {$ref: 'inner/b.yaml#/B'}\nA: {type: string}"
    )
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.yaml").write_text(
        "B: {p: {$ref: '../a.yaml#/A'}, q: {$ref: '../c.yaml#/C'}}"
    )
    (tmp_path / "c.yaml").write_text("C: {$ref: 'inner/b.yaml#/B'}")

    (document,) = read_sources([tmp_path / "a.yaml"]).documents.values()

    assert document["x"] == {"$ref": "#/x-orchet-files/inner~1b.yaml/B"}
    assert document["x-orchet-files"] == {
        "inner/b.yaml": {"B": {"p": {"$ref": "#/A"}, "q": {"$ref": "#/x-orchet-files/c.yaml/C"}}},
        "c.yaml": {"C": {"$ref": "#/x-orchet-files/inner~1b.yaml/B"}},
    }
