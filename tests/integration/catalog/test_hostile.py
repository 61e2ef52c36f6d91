"""Hostile documents: each is refused or compiled, and linted, in bounded time and memory.

`hostile/` holds the small ones, as they would be written; the large ones are made here. All are
examined by `examine.py`, a process each.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DocumentUnreadable, SkippedWarning

_HERE = Path(__file__).parent
_ROOT = Path(__file__).parents[3]
_ORDINARY = "operations-1000.json"
_MOST_CPU = 5.0
"""How often the CPU time of an ordinary large document, on the same machine in the same run."""
_MOST_MEMORY_MB = 200
_PROCESSES = 2

Json = dict[str, Any]
Outcome = dict[str, Any]
Outcomes = Callable[[str], Outcome]

_SMALL = {
    "a-list.yaml": "holds no object",
    "a-word.yaml": "holds no object",
    "alias-of-itself.yaml": "contains itself at line 4",
    "alias-of-nothing.yaml": "names nothing",
    "body-a-string.yaml": "ORC001",
    "body-content-a-list.yaml": "at /paths/~1thing/post/requestBody/content: an object is wanted",
    "body-media-type-null.yaml": "ORC001",
    "comment-only.yaml": "holds no object",
    "components-a-list.yaml": "ORC034",
    "contract-cancels-itself.yaml": "ORC049",
    "contract-flag-a-string.yaml": "x-orchet-tool is true or false",
    "contract-of-wrong-types.yaml": "x-orchet-cancel-for is 7",
    "cut-off.json": "Unterminated string",
    "empty.json": "it is empty",
    "empty.yaml": "it is empty",
    "half-a-character.json": "half a character at /info/title",
    "key-a-number.yaml": "1 tools",
    "key-an-object.yaml": "plain text at line 4",
    "key-not-text.yaml": "plain text at line 4",
    "key-twice.json": "'paths' is there twice",
    "key-twice.yaml": "'paths' is there twice at line 5",
    "not-yaml.yaml": "line 2",
    "nul-in-names.json": "1 tools",
    "number-endless.json": "no JSON number at /x-number",
    "number-endless.yaml": "no JSON number at /paths/~1thing/get/x-number",
    "number-infinity.json": "-Infinity is no JSON number",
    "number-nan.json": "NaN is no JSON number",
    "number-of-5000-digits.yaml": "4300 digits",
    "openapi-4.yaml": "4.0.0",
    "openapi-a-list.yaml": "3.0, 3.1 or 3.2 document is wanted",
    "openapi-a-number.yaml": "0 tools",
    "operation-a-list.yaml": "at /paths/~1thing/get: an object is wanted",
    "operation-id-a-list.yaml": "1 tools",
    "operation-id-an-injection.yaml": "1 tools",
    "operation-id-missing.yaml": "1 tools",
    "operation-ids-repeated.yaml": "2 tools",
    "parameter-content-a-list.yaml": "parameters/0/content: an object is wanted",
    "parameter-in-nowhere.yaml": "cannot be in 'space'",
    "parameter-style-a-number.yaml": "parameters/0/style: a string is wanted",
    "parameter-without-a-name.yaml": "'name' is missing",
    "parameters-a-string.yaml": "get/parameters: a list is wanted",
    "parameters-of-numbers.yaml": "parameters/0: 'in' is missing",
    "paths-a-list.yaml": "at /paths: an object is wanted",
    "paths-empty.yaml": "0 tools",
    "paths-missing-in-3-0.yaml": "ORC004",
    "paths-missing.yaml": "ORC004",
    "paths-null.yaml": "at /paths: an object is wanted",
    "paths-of-strings.yaml": "at /paths/~1thing: an object is wanted",
    "ref-circle-of-parameters.yaml": "leads in a circle",
    "ref-circle-of-path-items.yaml": "leads in a circle",
    "ref-circle-of-schemas.yaml": "leads in a circle",
    "ref-circle-through-all-of.yaml": "ORC026",
    "ref-circle-through-one-of.yaml": "ORC026",
    "ref-into-a-list.yaml": "leads nowhere",
    "ref-out-of-the-folder.yaml": "leads out of the folder",
    "ref-that-is-a-number.yaml": "ORC005",
    "ref-to-a-device.yaml": "leads out of the folder",
    "ref-to-a-file-url.yaml": "is a URL",
    "ref-to-a-missing-file.yaml": "cannot be read",
    "ref-to-a-name-with-nul.yaml": "no name of a file",
    "ref-to-a-url.yaml": "is a URL",
    "ref-to-an-absolute-path.yaml": "leads out of the folder",
    "ref-to-an-anchor.yaml": "leads nowhere",
    "ref-to-itself.yaml": "leads in a circle",
    "ref-to-nowhere.yaml": "leads nowhere",
    "ref-to-the-folder.yaml": "it is no file",
    "ref-with-bad-escapes.yaml": "leads nowhere",
    "responses-a-number.yaml": "get/responses: an object is wanted",
    "responses-content-a-string.yaml": "200/content: an object is wanted",
    "responses-media-type-a-list.yaml": "ORC001",
    "responses-of-strings.yaml": "ORC001",
    "schema-a-number.yaml": "parameters/0/schema: an object is wanted",
    "schema-all-of-an-object.yaml": "schema/allOf: a list is wanted",
    "schema-discriminator-broken.yaml": "1 tools",
    "schema-enum-a-string.yaml": "ORC001",
    "schema-null.yaml": "json/schema: an object is wanted",
    "schema-of-wrong-types.yaml": "is wanted",
    "schema-pattern-a-number.yaml": "ORC001",
    "schema-pattern-broken.yaml": "ORC025",
    "schema-pattern-endless.yaml": "1 tools",
    "schema-pattern-of-ecma.yaml": "1 tools",
    "schema-pattern-too-large.yaml": "ORC028",
    "schema-properties-of-numbers.yaml": "properties/a: an object is wanted",
    "schema-required-a-string.yaml": "ORC001",
    "schema-required-of-numbers.yaml": "ORC001",
    "schema-with-dynamic-references.yaml": "1 tools",
    "security-a-string.yaml": "get/security: a list is wanted",
    "security-of-strings.yaml": "security/0: an object is wanted",
    "servers-a-number.yaml": "servers: a list is wanted",
    "servers-url-a-list.yaml": "servers/0/url: a string is wanted",
    "servers-url-broken.yaml": "ORC035",
    "servers-variable-without-default.yaml": "'default' is missing",
    "servers-variables-a-list.yaml": "variables: an object is wanted",
    "summary-a-list.yaml": "summary: a string is wanted",
    "swagger-2.yaml": "swagger2openapi",
    "tabs.yaml": "line 3",
    "tag-of-binary.yaml": "is not understood",
    "tag-of-python.yaml": "is not understood",
    "tags-of-numbers.yaml": "tags/0: a string is wanted",
    "trailing-comma.json": "line 1",
    "two-documents.yaml": "another document begins at line 5",
    "webhooks-and-links-broken.yaml": "ORC001",
}
"""Each file of hostile/ and a part of what is said of it, by the compiler or by the linter."""


def _document(operation: Json, **more: Any) -> Json:
    described = {
        "operationId": "thing_do",
        "summary": "Do it.",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": False,
        "responses": {"200": {"description": "Done."}},
        **operation,
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hostile", "version": "1"},
        "servers": [{"url": "https://hostile.example"}],
        "paths": {"/thing": {"post": described}},
        **more,
    }


def _with_body(schema: Json, schemas: Json | None = None) -> Json:
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return _document({"requestBody": body}, components={"schemas": schemas or {}})


def _ref(name: object) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _chain(length: int, link: Callable[[Json], Json]) -> Json:
    """Schemas that each refer to the next."""
    schemas = {f"S{n}": link(_ref(f"S{n + 1}")) for n in range(length)}
    return _with_body(_ref("S0"), {**schemas, f"S{length}": {"type": "object"}})


def _nested(depth: int, around: Callable[[Json], Json]) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(depth):
        schema = around(schema)
    return _with_body(schema)


def _in_properties(schema: Json) -> Json:
    return {"type": "object", "properties": {"a": schema}}


def _twice_in_properties(schema: Json) -> Json:
    return {"type": "object", "properties": {"a": schema, "b": schema}}


def _twice_in_all_of(schema: Json) -> Json:
    return {"allOf": [schema, schema], "properties": {"a": {"type": "string"}}}


def _wide_schema(properties: int) -> Json:
    leaf = {"type": "string", "maxLength": 9, "description": "A leaf."}
    return {"type": "object", "properties": {f"p{n}": leaf for n in range(properties)}}


def _with_parameters(count: int) -> Json:
    parameters = [
        {"name": f"p{n}", "in": "query", "description": "One.", "schema": {"type": "integer"}}
        for n in range(count)
    ]
    return _document({"parameters": parameters})


def _operations(count: int) -> Json:
    """As many tools that all answer the same large thing, which can be reached from itself."""
    schema = {**_wide_schema(500), "allOf": [_in_properties(_ref("Thing"))]}
    content = {"content": {"application/json": {"schema": _ref("Thing")}}}
    document = _document({}, components={"schemas": {"Thing": schema}})
    for n in range(count):
        operation = dict(document["paths"]["/thing"]["post"], operationId=f"thing_do_{n}")
        operation["responses"] = {"200": {"description": "Done.", **content}}
        document["paths"][f"/thing/{n}"] = {"post": operation}
    return document


def _alias_bomb() -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "openapi: 3.1.0\n" + "\n".join(lines)


def _merge_bomb() -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 30)]
    return "openapi: 3.1.0\n" + "\n".join(lines)


_LARGE: dict[str, tuple[Callable[[], Json | str | bytes], str]] = {
    "alias-bomb.yaml": (_alias_bomb, "aliases stand for more"),
    "merge-bomb.yaml": (_merge_bomb, "aliases stand for more"),
    "lists-10000-deep.yaml": (lambda: f"openapi: {'[' * 10_000}", "nested too deep"),
    "lists-1000000-deep.yaml": (lambda: f"openapi: {'[' * 1_000_000}", "nested too deep"),
    "blocks-2000-deep.yaml": (
        lambda: "".join(f"{' ' * n}a:\n" for n in range(2_000)),
        "nested too deep",
    ),
    "lists-10000-deep.json": (lambda: '{"openapi": ' + "[" * 10_000, "nested too deep"),
    "objects-800-deep.json": (
        lambda: '{"a": ' * 800 + "1" + "}" * 800,
        "nested too deep",
    ),
    "schemas-80-deep.json": (lambda: _nested(80, _in_properties), "nested too deep"),
    "schemas-70-deep.json": (lambda: _nested(70, _in_properties), "1 tools"),
    "chain-of-properties.json": (lambda: _chain(10_000, _in_properties), "1 tools"),
    "chain-of-references.json": (lambda: _chain(10_000, lambda ref: ref), "in a circle"),
    "chain-of-all-of.json": (
        lambda: _chain(10_000, lambda ref: {"allOf": [ref]}),
        "combines more than 500 schemas",
    ),
    "laughs-in-properties.json": (lambda: _chain(40, _twice_in_properties), "1 tools"),
    "laughs-in-all-of.json": (lambda: _chain(40, _twice_in_all_of), "1 tools"),
    "laughs-in-one-of.json": (
        lambda: _chain(40, lambda ref: {"oneOf": [ref, ref, {"type": "null"}]}),
        "1 tools",
    ),
    "parameters-5000.json": (lambda: _with_parameters(5_000), "1 tools"),
    "parameters-5000-of-a-large-schema.json": (
        lambda: {
            **_with_parameters(5_000),
            **_document(
                {
                    "parameters": [
                        {"name": f"p{n}", "in": "query", "schema": _ref("Wide")}
                        for n in range(5_000)
                    ]
                },
                components={"schemas": {"Wide": _wide_schema(390)}},
            ),
        },
        "1 tools",
    ),
    "properties-5000.json": (lambda: _with_body(_wide_schema(5_000)), "1 tools"),
    "enum-100000.json": (
        lambda: _with_body(_in_properties({"enum": [f"value-{n}" for n in range(100_000)]})),
        "1 tools",
    ),
    "operations-1000.json": (lambda: _operations(1_000), "1001 tools"),
    "description-5-mb.json": (lambda: _document({"description": "words " * 900_000}), "1 tools"),
    "path-of-10000-steps.json": (
        lambda: _document({}, paths={"/{a}" * 10_000: {"get": {"responses": {}}}}),
        "0 tools",
    ),
    "utf-16.json": (lambda: json.dumps(_document({})).encode("utf-16"), "not text in UTF-8"),
    "latin-1.yaml": (lambda: "title: Café".encode("latin-1"), "not text in UTF-8"),
    "binary.yaml": (lambda: bytes(range(256)), "not text in UTF-8"),
    "nul.yaml": (lambda: "openapi: 3.1.0\npaths: \0", "not allowed"),
    "nul.json": (lambda: '{"openapi": "3.1.0\0"}', "Invalid control character"),
    "byte-order-mark.json": (
        lambda: b"\xef\xbb\xbf" + json.dumps(_document({})).encode(),
        "1 tools",
    ),
}
"""What is made, and a part of what is said of it."""


_HUGE = (
    "chain-of-all-of.json",
    "chain-of-properties.json",
    "parameters-5000-of-a-large-schema.json",
    "parameters-5000.json",
)
"""They take as long as all others together: they are examined in the long run."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Outcomes:
    """What became of a document, by the name of its file."""
    folder = tmp_path_factory.mktemp("hostile")
    is_long = any(item.get_closest_marker("long") for item in request.session.items)
    for name, (make, _) in _LARGE.items():
        if name in _HUGE and not is_long:
            continue
        made = make()
        text = made if isinstance(made, str | bytes) else json.dumps(made)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    files = [*(_HERE / "hostile").iterdir(), *folder.iterdir()]
    lines = [line for text in _examined(files) for line in text.splitlines()]
    found = {Path(line["path"]).name: line for line in map(json.loads, lines)}
    return found.__getitem__


def _examined(files: list[Path]) -> list[str]:
    """What some processes side by side print of the files; each file has a limit of its own."""
    shares = [files[start::_PROCESSES] for start in range(_PROCESSES)]
    started = [
        subprocess.Popen(
            [sys.executable, str(_HERE / "examine.py"), *map(str, share)],
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for share in shares
    ]
    try:
        printed = [process.communicate()[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(process.returncode == 0 for process in started)
    return printed


@pytest.mark.parametrize(
    "name",
    [
        *_SMALL,
        *(pytest.param(one, marks=pytest.mark.long if one in _HUGE else ()) for one in _LARGE),
    ],
)
def test_a_hostile_document_is_answered_in_bounds(name: str, outcomes: Outcomes) -> None:
    """It compiles or is refused in one line of ours, and so does linting it; neither runs away."""
    outcome = outcomes(name)
    said = f"{outcome['compile']} | {outcome['lint']}"

    assert "crashed" not in said, said
    assert "killed" not in said, said
    assert (_SMALL.get(name) or _LARGE[name][1]) in said
    assert "\n" not in said
    assert outcome["cpu_s"] < _MOST_CPU * outcomes(_ORDINARY)["cpu_s"]
    assert outcome["memory_mb"] < _MOST_MEMORY_MB


def test_each_document_of_the_corpus_is_examined() -> None:
    """No file lies there without a claim about it."""
    assert {file.name for file in (_HERE / "hostile").iterdir()} == set(_SMALL)


def test_what_does_not_compile_is_found_by_the_linter(outcomes: Outcomes) -> None:
    """A document that was read and is refused by the compiler has a finding that is an error."""
    refused = [n for n in _SMALL if "tools; " in outcomes(n)["compile"]]
    told = ("ORC00", "DocumentInvalid")
    silent = [name for name in refused if not outcomes(name)["lint"].startswith(told)]

    assert len(refused) > 30
    assert silent == []


def test_a_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    """The error says how large it is, and how large it may be."""
    file = tmp_path / "large.yaml"
    with file.open("wb") as large:
        large.truncate(101 * 2**20)

    with pytest.raises(DocumentUnreadable, match="101 MB, and at most 100 MB"):
        Catalog.load(file)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """What is no file is refused before it is opened."""
    os.mkfifo(tmp_path / "pipe.yaml")

    with pytest.raises(DocumentUnreadable, match="it is no file"):
        Catalog.load(tmp_path / "pipe.yaml")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A reference is judged by where it ends, not by how it is spelt."""
    outside, folder = tmp_path / "outside.yaml", tmp_path / "folder"
    outside.write_text("A: {type: string}")
    folder.mkdir()
    (folder / "link.yaml").symlink_to(outside)
    (folder / "api.yaml").write_text("openapi: 3.1.0\npaths: {/a: {$ref: 'link.yaml#/A'}}")

    with pytest.warns(SkippedWarning, match="leads out of the folder"):
        assert len(Catalog.load(folder / "api.yaml")) == 0
