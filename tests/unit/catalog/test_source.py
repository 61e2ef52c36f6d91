"""Files read: YAML as JSON means it, references across files, and lines of pointers."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.catalog.source import (
    SourceLine,
    find_lines,
    overlays_for,
    read_object,
    read_sources,
)
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import (
    DocumentInvalid,
    DocumentUnreadable,
    SkippedWarning,
    UnreadWarning,
    UsageError,
)
from orchestrator.runtime import worker
from orchestrator.settings import Settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2026-12-03", {"a": "2026-12-03"}),
        ("a: 2026-12-03T09:30:00Z", {"a": "2026-12-03T09:30:00Z"}),
        ("[NO, on, 10:30, 1_000, .inf]", ["NO", "on", "10:30", "1_000", ".inf"]),
        ("[007, 0x1f, -3, 1e3, 'true', True, ~]", [7, 31, -3, 1000.0, "true", True, None]),
        ("a:", {"a": None}),
        ("200: a\ntrue: b\n2026-12-03: c", {"200": "a", "true": "b", "2026-12-03": "c"}),
        ("a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}", {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}}),
    ],
)
def test_yaml_means_what_json_can_say(text: str, value: Any) -> None:
    """YAML 1.2's core schema: no dates, no country that is false; keys are texts as written."""
    assert load_yaml(text) == value


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("x.yaml", "a: [", "line"),
        ("x.yaml", "a: 1\na: 2", "twice"),
        ("x.yaml", "a: &a [*a]", "contains itself"),
        ("x.yaml", "a: !!python/object/apply:os.getcwd []", "tag"),
        ("x.yaml", "[a]: b", "plain text"),
        ("x.yaml", "- a", "no object"),
        ("x.yaml", "", "it is empty"),
        ("x.json", " \n", "it is empty"),
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

    assert refused.value.subject.startswith(str(file))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("missing.yaml#/A", "cannot be read"),
        ("https://example.com/a.yaml#/A", "URL"),
    ],
)
def test_a_reference_to_a_file_that_is_not_there_costs_what_needs_it(
    tmp_path: Path, reference: str, reason: str
) -> None:
    """Nothing is fetched, and the error points at the reference."""
    (tmp_path / "a.yaml").write_text(f"openapi: 3.1.0\npaths: {{/x: {{$ref: '{reference}'}}}}")

    (skipped,) = Catalog.from_documents(read_sources([tmp_path / "a.yaml"]).documents).skipped

    assert skipped.pointer == "/paths/~1x"
    assert reason in skipped.reason
    assert skipped.remedy


def test_files_that_refer_to_each_other_are_taken_in_once(tmp_path: Path) -> None:
    """References back to the document become local, and a circle of files ends."""
    (tmp_path / "inner").mkdir()
    for name, text in {
        "a.yaml": "openapi: 3.1.0\nx: {$ref: 'inner/b.yaml#/B'}\nA: {type: string}",
        "inner/b.yaml": "B: {p: {$ref: '../a.yaml#/A'}, q: {$ref: '../c.yaml#/C'}}",
        "c.yaml": "C: {$ref: 'inner/b.yaml#/B'}",
    }.items():
        (tmp_path / name).write_text(text)

    (document,) = read_sources([tmp_path / "a.yaml"]).documents.values()

    assert document["x"] == {"$ref": "#/x-orchet-files/inner~1b.yaml/B"}
    assert document["x-orchet-files"] == {
        "inner/b.yaml": {"B": {"p": {"$ref": "#/A"}, "q": {"$ref": "#/x-orchet-files/c.yaml/C"}}},
        "c.yaml": {"C": {"$ref": "#/x-orchet-files/inner~1b.yaml/B"}},
    }


def _loaded(folder: Path, **files: str) -> Catalog:
    """The catalog of main.yaml among these files; `__` in a name is a folder, `.` its end."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Catalog.from_documents(read_sources([folder / "main.yaml"]).documents)


TOOL = "x-orchet-tool: true, responses: {}"


def _inputs(**schemas: str) -> str:
    """A document of one tool with these inputs."""
    taken = ", ".join(f"{{name: {n}, in: query, schema: {s}}}" for n, s in schemas.items())
    tool = f"{{operationId: a, {TOOL}, parameters: [{taken}]}}"
    return f"openapi: 3.1.0\npaths: {{/a: {{get: {tool}}}}}\n"


def test_many_files_of_one_folder_are_read(tmp_path: Path) -> None:
    """Any number of files is read; a tool is marked next to the reference to its operation."""
    for number in range(300):
        (tmp_path / f"op{number}.yaml").write_text(f"operationId: op{number}\nresponses: {{}}")
    paths = [f"  /p{n}: {{get: {{$ref: op{n}.yaml, x-orchet-tool: true}}}}" for n in range(300)]

    catalog = _loaded(tmp_path, main="openapi: 3.1.0\npaths:\n" + "\n".join(paths))

    assert len(catalog) == 300
    assert catalog.skipped == ()


def test_references_in_extensions_are_left_alone(tmp_path: Path) -> None:
    """They mean what their owner means; unless something refers into the extension."""
    catalog = _loaded(
        tmp_path,
        main=(
            "openapi: 3.1.0\n"
            "x-policy: {$ref: ../elsewhere.yaml}\n"
            "x-unused: {$ref: unused.yaml}\n"
            "x-shared: {P: {$ref: 'shared.yaml#/x-parts/P'}}\n"
            "paths:\n"
            "  /a:\n"
            f"    get: {{operationId: a, {TOOL}, parameters: [{{$ref: '#/x-shared/P'}}]}}\n"
        ),
        shared="x-parts: {P: {name: q, in: query, schema: {$ref: '#/x-s'}}}\nx-s: {type: integer}",
        unused="{}",
    )

    (document,) = catalog.documents.values()
    assert document["x-policy"] == {"$ref": "../elsewhere.yaml"}
    files = document["x-orchet-files"]
    assert isinstance(files, dict)
    assert list(files) == ["shared.yaml"]
    assert catalog.tool("a").properties["q"] == {"type": "integer"}


def test_a_name_that_begins_like_an_extension_is_a_name(tmp_path: Path) -> None:
    """Headers, properties and components are called as their owner likes."""
    taken = _inputs(q="{properties: {x-id: {$ref: ids.yaml}}}")
    catalog = _loaded(tmp_path, main=taken, ids="{type: integer}")

    assert catalog.tool("a").properties["q"] == {"properties": {"x-id": {"type": "integer"}}}


def test_properties_may_be_taken_from_elsewhere(tmp_path: Path) -> None:
    """`properties: {$ref: ...}` may have further members; a cycle skips the operation."""
    catalog = _loaded(
        tmp_path,
        main=(
            "openapi: 3.1.0\npaths:\n"
            f"  /a: {{get: {{operationId: a, {TOOL}, parameters: [{{name: q, in: query,"
            " schema: {properties: {$ref: 'base.yaml#/properties', b: {type: string}}}}]}}\n"
            f"  /b: {{get: {{operationId: b, {TOOL}, parameters: [{{name: q, in: query,"
            " schema: {$ref: '#/components/schemas/C'}}]}}\n"
            "components: {schemas: {C: {properties: {x: {properties: {$ref: "
            "'#/components/schemas/C/properties'}}, y: {properties: {$ref: "
            "'#/components/schemas/C/properties'}}}}}}\n"
        ),
        base="properties: {a: {type: integer}, b: {type: integer}}",
    )

    assert catalog.tool("a").properties["q"] == {
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}
    }
    assert [skipped.operation for skipped in catalog.skipped] == ["b"]


def test_an_overlay_removes_before_references_count(tmp_path: Path) -> None:
    """A path whose file is not there is no matter once it is gone."""
    kept = f"/a: {{get: {{operationId: a, {TOOL}}}}}"
    (tmp_path / "main.yaml").write_text(
        f"openapi: 3.1.0\npaths: {{/gone: {{$ref: gone.yaml}}, {kept}}}"
    )
    (tmp_path / "less.yaml").write_text(
        OVERLAY.replace("extends: DOC\n", "") + "  - {target: \"$.paths['/gone']\", remove: true}\n"
    )
    documents = read_sources([tmp_path / "main.yaml"], [tmp_path / "less.yaml"]).documents
    catalog = Catalog.from_documents(documents)

    assert list(catalog.tools) == ["a"]
    assert catalog.skipped == ()


def test_what_is_wrong_in_another_file_is_told_with_its_line(tmp_path: Path) -> None:
    """The line belongs to the file that holds the fault."""
    for name, text in {
        "main.yaml": "openapi: 3.1.0\npaths:\n  /a: {get: {$ref: get.yaml}}",
        "get.yaml": "x-orchet-tool: true\nresponses: {}\nparameters:\n  - {name: q, in: space}",
    }.items():
        (tmp_path / name).write_text(text)

    with pytest.warns(SkippedWarning):
        (skipped,) = Catalog.load(tmp_path / "main.yaml").skipped

    assert (skipped.file, skipped.line) == (str(tmp_path / "get.yaml"), 4)


def test_swagger_is_refused_with_a_command_for_the_very_file(tmp_path: Path) -> None:
    """The command can be copied unchanged."""
    (tmp_path / "old api.json").write_text('{"swagger": "2.0", "paths": {}}')

    with pytest.raises(DocumentInvalid) as refused:
        read_sources([tmp_path / "old api.json"])

    assert str(refused.value).endswith(
        f"npx --yes swagger2openapi --patch --outfile '{tmp_path}/old api.openapi.json' "
        f"'{tmp_path}/old api.json'"
    )


@pytest.mark.parametrize("given", [str, Path])
def test_an_address_is_no_file_and_the_command_that_fetches_it_is_named(given: type) -> None:
    """Nothing is fetched; a path of the file system has lost one of the two slashes."""
    address = "https://shop.example/v3/shop.yaml?raw=1"

    with pytest.raises(DocumentUnreadable, match="it is an address") as refused:
        read_sources([given(address)])

    assert str(refused.value).startswith(address)
    assert f"curl -fL -o shop.yaml '{address}'" in str(refused.value)


def test_anchors_of_other_files_are_found(tmp_path: Path) -> None:
    """From another file and from their own, also inside of a schema with an `$id`."""
    catalog = _loaded(
        tmp_path,
        main=_inputs(
            outer="{$ref: 'schemas/course.yaml#code'}",
            inner="{$ref: 'schemas/course.yaml#/$defs/T/items'}",
        ),
        schemas__course=(
            "$id: https://example.com/schemas/course.yaml\n"
            "$defs:\n"
            "  Code: {$anchor: code, type: integer}\n"
            "  T:\n"
            "    $id: other\n"
            "    items: {$ref: '#code'}\n"
            "    contains: {$anchor: code, type: boolean}\n"
        ),
    )

    assert catalog.skipped == ()
    assert catalog.tool("a").properties["outer"]["type"] == "integer"
    assert catalog.tool("a").properties["inner"]["type"] == "boolean"


def test_a_dynamic_reference_is_followed_across_files(tmp_path: Path) -> None:
    """As a plain reference to the anchor."""
    catalog = _loaded(
        tmp_path,
        main=_inputs(
            any="{$ref: 'schemas/page.yaml'}", far="{$dynamicRef: 'schemas/item.yaml#item'}"
        ),
        schemas__page="type: array\nitems: {$dynamicRef: 'item.yaml#item'}\n",
        schemas__item="$dynamicAnchor: item\ntype: [string, integer]\n",
    )

    assert catalog.skipped == ()
    properties = catalog.tool("a").properties
    assert properties["any"]["items"] == {"type": ["string", "integer"]}
    assert properties["far"]["type"] == ["string", "integer"]


OVERLAY = "overlay: 1.0.0\ninfo: {title: t, version: '1'}\nextends: DOC\nactions:\n"
OVERLAY += "  - {target: $.info, update: {x-seen: true}}\n"


@pytest.fixture
def folder(shop: dict[str, Any], tmp_path: Path) -> Path:
    """The shop among files that break in different ways."""
    (tmp_path / "shop.json").write_text(json.dumps(shop))
    (tmp_path / "cut.yaml").write_text("openapi: 3.1.0\npaths: {a: [")
    (tmp_path / "old.json").write_text('{"swagger": "2.0", "paths": {}}')
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    return tmp_path


def test_the_others_are_read_and_each_is_told(folder: Path) -> None:
    """With its path, the reason, and what to do."""
    with pytest.warns(UnreadWarning) as told:
        catalog = Catalog.load(folder)

    assert list(catalog.documents) == ["shop"]
    assert [one.document for one in catalog.unread] == ["cut", "gone", "old"]
    cut, gone, old = (str(warning.message) for warning in told)
    assert cut.startswith(f"{folder}/cut.yaml is left out: ")
    assert "line 3" in cut and "No such file" in gone and "swagger2openapi" in old


def test_nothing_left_is_refused_with_the_reasons(folder: Path) -> None:
    """All that was there is named."""
    (folder / "shop.json").unlink()

    with pytest.raises(UsageError, match=r"no OpenAPI document.*cut\.yaml.*old\.json is left out"):
        read_sources([folder])


def test_the_overlay_of_what_was_left_out_waits_for_it(folder: Path) -> None:
    """The overlay has no fault, and is not taken for another document's."""
    for name in ("cut", "shop", "other"):
        (folder / f"{name}.overlay.yml").write_text(OVERLAY.replace("DOC", f"{name}.yaml"))
    named = {name: folder / f"{name}.overlay.yml" for name in ("cut", "shop", "other")}

    sources = read_sources([folder], [named["cut"], named["shop"]])

    assert sources.documents["shop"]["info"]["x-seen"] is True  # type: ignore[index,call-overload]
    fitting, others = overlays_for([folder], list(named.values()))
    assert fitting == (named["cut"], named["shop"])
    assert others == ((named["other"], "other.yaml"),)


def test_lint_counts_it_as_an_error(folder: Path) -> None:
    """A folder with a broken document does not pass."""
    sources = read_sources([folder])

    found = [f for f in lint(sources.documents, unread=sources.unread) if f.code == "ORC001"]

    assert [(f.document, f.severity) for f in found] == [
        (name, "error") for name in ("cut", "gone", "old")
    ]
    assert "swagger2openapi" in found[-1].fix


def test_a_worker_says_loudly_what_it_lacks(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log has an error with the consequence for missions."""
    with caplog.at_level(logging.ERROR):
        catalog = worker.load_catalog(Settings(specs=(folder,)))

    assert list(catalog.documents) == ["shop"]
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 3
    assert "new missions have no tool of it" in caplog.text


YAML = """\
openapi: 3.1.0   # line 1
paths:
  /a/b:
    get:
      tags:
        - one
        - two
"""


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("", 1),
        ("/paths", 2),
        ("/paths/~1a~1b", 3),
        ("/paths/~1a~1b/get/tags", 5),
        ("/paths/~1a~1b/get/tags/1", 7),
    ],
)
def test_a_pointer_leads_to_its_line(pointer: str, line: int) -> None:
    """The line of a key, or of an element of a list."""
    assert find_lines(YAML, [pointer]) == {pointer: line}


def test_what_is_not_in_the_text_gets_the_line_around_it() -> None:
    """An overlay added it, or it was taken in from another file."""
    found = find_lines(YAML, ["/paths/~1a~1b/get/x-orchet-tool", "/paths/~1a~1b/get/tags/9"])

    assert list(found.values()) == [4, 5]


def test_json_has_lines_too() -> None:
    """Indented by tabs or by nothing."""
    assert find_lines('{\n\t"a": [\n\t\t1,\n\t\t2\n\t]\n}', ["/a/1"]) == {"/a/1": 4}


@pytest.mark.parametrize("text", ["", "a: [", "[" * 5000, '{"a": 1'])
def test_a_text_that_cannot_be_read_has_no_lines(text: str) -> None:
    """Broken, cut off, or nested without end."""
    assert find_lines(text, ["/a"]) == {}


def test_a_place_reads_as_editors_write_it() -> None:
    """`file:line`, or the file alone."""
    assert [str(SourceLine("a.yaml", 7)), str(SourceLine("a.yaml"))] == ["a.yaml:7", "a.yaml"]
