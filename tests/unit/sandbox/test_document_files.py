"""Documents are loaded from files, and redirected so that no other host can be called."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.sandbox import DocumentError, load_documents, redirected

REAL = [{"url": "https://real.example/api"}]


FLOWS = {"clientCredentials": {"tokenUrl": "https://login.real.example/token", "scopes": {}}}


def document() -> dict[str, Any]:
    operation = {
        "operationId": "find",
        "summary": "Find.",
        "x-orchet-tool": True,
        "servers": REAL,
        "security": [{"login": []}],
        "responses": {"200": {"description": "found"}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Real", "version": "1"},
        "servers": REAL,
        "paths": {"/find": {"servers": REAL, "get": operation}},
        "components": {"securitySchemes": {"login": {"type": "oauth2", "flows": FLOWS}}},
    }


def test_no_server_of_any_level_is_left() -> None:
    """Token endpoints are removed as well; the given document is not changed."""
    given = document()
    before = json.dumps(given)
    turned = redirected({"my api": given, "my-api": given}, "http://127.0.0.1:8700")

    assert "real.example" not in json.dumps(turned)
    assert json.dumps(given) == before
    assert turned["my api"]["servers"] == [{"url": "http://127.0.0.1:8700/my-api"}]
    assert turned["my-api"]["servers"] == [{"url": "http://127.0.0.1:8700/my-api-2"}]


def test_no_server_is_left_behind_a_reference() -> None:
    """Servers of operations that are referenced are removed too."""
    given = document()
    given["x-parts"] = given["paths"]
    given["paths"] = {
        "/find": {"get": {"$ref": "#/x-parts/~1find/get", "x-orchet-price": False}},
        "/look": {"$ref": "#/x-parts/~1find"},
    }
    (turned,) = redirected({"real": given}, "http://127.0.0.1:8700").values()

    assert "real.example" not in json.dumps(turned["paths"])
    assert turned["paths"]["/find"]["get"]["operationId"] == "find"
    assert turned["paths"]["/find"]["get"]["x-orchet-price"] is False


def test_the_sandbox_may_move_to_another_port() -> None:
    """A pinned document reaches the new port by its server variables."""
    (turned,) = redirected(
        {"real": document()}, "http://{host}:{port}", variables={"host": "h", "port": "1"}
    ).values()
    tool = Catalog.from_documents({"real": turned}).tool("find")
    variables = {"host": {"default": "h"}, "port": {"default": "1"}}
    assert turned["servers"] == [{"url": "http://{host}:{port}/real", "variables": variables}]
    assert tool.name == "find"


def test_folder_and_file_are_read_by_stem(shop: dict[str, Any], tmp_path: Path) -> None:
    """YAML and JSON are the same document; other files are passed over."""
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(shop), encoding="utf-8")
    (tmp_path / "a.json").write_text(json.dumps(shop), encoding="utf-8")
    (tmp_path / "README.md").write_text("words", encoding="utf-8")
    (tmp_path / "x.schema.json").write_text('{"type": "object"}', encoding="utf-8")
    (tmp_path / "ours.yaml").write_text("overlay: 1.0.0", encoding="utf-8")
    found = load_documents([tmp_path])

    assert list(found) == ["a", "b"]
    assert found["a"] == found["b"]


def test_dates_stay_text(shop: dict[str, Any], tmp_path: Path) -> None:
    """YAML would make a date of an unquoted example; JSON has none."""
    file = tmp_path / "shop.yaml"
    text = yaml.safe_dump(shop).replace("title: Shop", "title: Shop\n  description: 2026-12-03")
    file.write_text(text, encoding="utf-8")

    assert load_documents([file])["shop"]["info"]["description"] == "2026-12-03"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("openapi: 3.1.0\ninfo: {title: x", "does not parse: line 2"),
        ("title: x", "has no openapi field"),
        ("openapi: 2.0.0", "not a version we know"),
    ],
)
def test_bad_file_is_refused_in_one_line(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(DocumentError) as caught:
        load_documents([file])
    assert str(file) in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_file_of_a_folder_costs_itself_alone(shop: dict[str, Any], tmp_path: Path) -> None:
    """The file is reported, and refused when nothing else is there; so is an empty folder."""
    with pytest.raises(DocumentError, match="no OpenAPI document"):
        load_documents([tmp_path])
    (tmp_path / "bad.yaml").write_text("openapi: 3.1.0\ninfo: {title: x", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"no OpenAPI document found.*does not parse: line 2"):
        load_documents([tmp_path])
    (tmp_path / "shop.json").write_text(json.dumps(shop), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"does not parse: line 2.*left out until that is fixed"):
        found = load_documents([tmp_path])
    assert list(found) == ["shop"]


def test_two_files_of_one_name_are_refused(shop: dict[str, Any], tmp_path: Path) -> None:
    for name in ("shop.yaml", "shop.json"):
        (tmp_path / name).write_text(json.dumps(shop), encoding="utf-8")

    with pytest.raises(DocumentError, match="two documents are named 'shop'"):
        load_documents([tmp_path])
