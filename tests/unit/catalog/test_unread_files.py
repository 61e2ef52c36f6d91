"""A file of a folder that cannot be read costs itself alone, and is told."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.catalog.source import overlays_for, read_sources
from orchestrator.core.errors import DocumentUnreadable, UnreadWarning, UsageError
from orchestrator.runtime import worker
from orchestrator.settings import Settings

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
    assert "line 3" in cut
    assert cut.endswith("; correct it, or move it out of the folder")
    assert "No such file" in gone
    assert "Swagger 2.0" in old
    assert "swagger2openapi" in old


def test_a_file_that_is_named_is_refused(folder: Path) -> None:
    """Whoever names it wants that one."""
    with pytest.raises(DocumentUnreadable, match=r"cut\.yaml"):
        read_sources([folder / "shop.json", folder / "cut.yaml"])


def test_nothing_left_is_refused_with_the_reasons(folder: Path) -> None:
    """All that was there is named."""
    (folder / "shop.json").unlink()

    with pytest.raises(UsageError, match=r"no OpenAPI document.*cut\.yaml.*old\.json is left out"):
        read_sources([folder])


def test_the_overlay_of_what_was_left_out_waits_for_it(folder: Path) -> None:
    """It is no mistake of the overlay, and is not taken for one of another document."""
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
    assert "swagger2openapi" in found[-1].mend


def test_a_worker_says_loudly_what_it_lacks(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As an error, with what becomes of missions."""
    with caplog.at_level(logging.ERROR):
        catalog = worker._load(Settings(specs=(folder,)))

    assert list(catalog.documents) == ["shop"]
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 3
    assert "new missions have no tool of it" in caplog.text
