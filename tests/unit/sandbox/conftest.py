"""A small document of a bookshop, and sandboxes that serve it."""

import copy
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from orchestrator.sandbox import EffectLedger, FaultPlan, FaultRule, create_app, read_document

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

_SHOP = Path(__file__).parents[2] / "documents" / "shop.yaml"
_PARSED: dict[str, Any] = yaml.safe_load(_SHOP.read_text(encoding="utf-8"))
_READ = read_document("shop", copy.deepcopy(_PARSED))


@pytest.fixture
def shop() -> dict[str, Any]:
    return copy.deepcopy(_PARSED)


@pytest.fixture
def ledger() -> Iterator[EffectLedger]:
    with EffectLedger() as opened:
        yield opened


@pytest.fixture
def faults() -> FaultPlan:
    return FaultPlan(seed=7)


@pytest.fixture
def open_app(shop: dict[str, Any], ledger: EffectLedger, faults: FaultPlan) -> Callable[..., Any]:
    """Opens a client of an app in this process; keywords go to create_app."""

    @asynccontextmanager
    async def opener(**options: Any) -> AsyncIterator[httpx.AsyncClient]:
        settings = {"ledger": ledger, "faults": faults, "clock": lambda: NOON, **options}
        unchanged = _READ if shop == _PARSED else shop
        documents = settings.pop("documents", {"shop": unchanged})
        app = create_app(documents, **settings)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
            yield client

    return opener


@pytest.fixture
async def http(open_app: Callable[..., Any]) -> AsyncIterator[httpx.AsyncClient]:
    async with open_app() as client:
        yield client


@pytest.fixture
async def book_id(http: httpx.AsyncClient) -> str:
    answer = await http.get("/shop/books", params={"author": "Eco"})
    found: str = answer.json()["books"][0]["book_id"]
    return found


@dataclass(frozen=True)
class Customer:
    """Orders one book, at a shop whose faults and effects the test sees."""

    http: httpx.AsyncClient
    book_id: str
    ledger: EffectLedger
    faults: FaultPlan

    def meets(self, kind: Any, *, operation_id: str = "order_place", **rule: Any) -> None:
        self.faults.replace([FaultRule(operation_id=operation_id, kind=kind, **rule)])

    async def order(self, key: str = "m1.leg.1", **changes: Any) -> httpx.Response:
        body = {"book_id": self.book_id, "client_reference": key, **changes}
        headers = {"Idempotency-Key": key, "X-Request-Id": key}
        return await self.http.post("/shop/orders", json=body, headers=headers)


@pytest.fixture
def customer(
    http: httpx.AsyncClient, book_id: str, ledger: EffectLedger, faults: FaultPlan
) -> Customer:
    return Customer(http, book_id, ledger, faults)
