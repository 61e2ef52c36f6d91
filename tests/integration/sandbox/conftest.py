"""The bookshop that the sandbox serves on real sockets."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml


@pytest.fixture
def shop() -> dict[str, Any]:
    """The document, which the test may change."""
    path = Path(__file__).parents[2] / "documents" / "shop.yaml"
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


@pytest.fixture
async def book_id(http: httpx.AsyncClient) -> str:
    """A book from a search."""
    answer = await http.get("/shop/books", params={"author": "Eco"})
    found: str = answer.json()["books"][0]["book_id"]
    return found
