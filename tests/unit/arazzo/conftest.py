"""What tests of written missions share: the bundled catalog, and documents over it."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.record import JsonObject
from tests.shipped import shipped_catalog

HEAD = """
arazzo: 1.1.0
info: {title: T, version: 1.0.0}
sourceDescriptions:
  - {name: flights, url: https://example.com/specs/flights.yaml, type: openapi}
  - {name: stays, url: ./hotels.yaml}
"""


@pytest.fixture(scope="session")
def bundled() -> Catalog:
    """The catalog of the bundled documents."""
    return shipped_catalog()


def content_of(text: str, head: str = HEAD) -> JsonObject:
    """Return a document's content: its workflows as YAML, under a common head."""
    content: Any = {**load_yaml(head), **load_yaml(text)}
    return dict(content)


@pytest.fixture
def document() -> Callable[[str], ArazzoDocument]:
    """Read a document from its workflows."""
    return lambda text: parse_document("t.yaml", content_of(text))
