"""The generic provider, over HTTP in this process."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from orchestrator.sandbox import EffectLedger

Json = dict[str, Any]
Opener = Callable[..., Any]
Http = httpx.AsyncClient
KEY = "m1.leg.1"


async def place(http: Http, book_id: str, **more: Any) -> httpx.Response:
    key = more.pop("key", KEY)
    headers = {} if key is None else {"Idempotency-Key": key}
    return await http.post("/shop/orders", json={"book_id": book_id, **more}, headers=headers)


async def search(http: Http, **params: Any) -> list[dict[str, Any]]:
    answer = await http.get("/shop/books", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["books"]
    return found


async def test_same_search_gives_same_offers(open_app: Opener, http: Http) -> None:
    """Offers depend on the request alone and echo it: a new ledger changes none."""
    offers = await search(http, author="Eco")

    assert {book["author"] for book in offers} == {"Eco"}
    assert await search(http, author="Eco") == offers
    with EffectLedger() as other:
        async with open_app(ledger=other) as second:
            assert await search(second, author="Eco") == offers


async def test_another_search_or_seed_gives_other_offers(open_app: Opener, http: Http) -> None:
    async with open_app(seed=1) as reseeded:
        ids = [
            {book["book_id"] for book in await search(client, author=author)}
            for client, author in ((http, "Eco"), (http, "Levi"), (reseeded, "Eco"))
        ]

    assert len(set.union(*ids)) == sum(len(found) for found in ids)


async def test_bounds_narrow_the_same_offers(http: Http) -> None:
    """A limit of one leaves the cheapest offer, and the total counts it."""
    books = await search(http, author="Eco")
    cheap = await search(http, author="Eco", max_price=books[1]["price"]["amount"])
    answer = await http.get("/shop/books", params={"author": "Eco", "limit": 1})

    assert cheap == books[:2]
    assert answer.json() == {"books": books[:1], "total": 1}


async def test_create_copies_the_offer(http: Http) -> None:
    book = (await search(http, author="Eco"))[2]
    answer = await place(http, book["book_id"], client_reference="r1")
    order = answer.json()
    assert (answer.status_code, order["author"], order["price"]) == (201, "Eco", book["price"])
    assert order["order_id"].startswith("ord_")
    assert (order["status"], order["client_reference"]) == ("placed", "r1")
    assert order["created_at"] == "2026-11-20T12:00:00Z"
    assert order["copies"] == 1, "the default of the request counts as said"
    assert "note" not in order, "what the request left out stays out"


async def test_an_unknown_id_is_refused(http: Http, book_id: str, ledger: EffectLedger) -> None:
    """A made up id leaves no effect, and its key works for the corrected request."""
    answer = await place(http, "B-000000")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert "book_id" in answer.json()["detail"]
    assert ledger.effects() == []
    assert (await place(http, book_id)).status_code == 201


async def test_a_key_has_one_answer(http: Http, book_id: str, ledger: EffectLedger) -> None:
    """Two calls with one key have one effect; the key of another request is refused."""
    first = await place(http, book_id)
    second = await place(http, book_id)
    other = await place(http, book_id, copies=2)

    assert second.json() == first.json()
    assert (first.status_code, second.status_code) == (201, 201)
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert other.status_code == 422
    assert KEY in other.json()["detail"]
    assert len(ledger.live()) == 1
    assert ledger.duplicates() == []


async def test_order_is_found_by_id_and_by_reference(http: Http, book_id: str) -> None:
    """Both reads return what the create answered; 404 shows a probe that there was no effect."""
    order = (await place(http, book_id, client_reference="r1")).json()
    taken = await place(http, book_id, client_reference="r1", key="b")

    assert taken.status_code == 409  # a cancel by it must mean one thing
    for order_id, reference, expected in ((order["order_id"], "r1", 200), ("ord_x", "r2", 404)):
        by_id = await http.get(f"/shop/orders/{order_id}")
        by_reference = await http.get(f"/shop/orders/find?client_reference={reference}")
        assert (by_id.status_code, by_reference.status_code) == (expected, expected)
        assert expected == 404 or by_id.json() == by_reference.json() == order


async def test_list_shows_newest_first_and_filters(http: Http, book_id: str) -> None:
    """A filter named for a property keeps what has that value."""
    first = (await place(http, book_id, key="a")).json()
    second = (await place(http, book_id, key="b")).json()
    await http.post("/shop/cancellations", json={"order_id": first["order_id"]})
    every = (await http.get("/shop/orders")).json()
    standing = (await http.get("/shop/orders", params={"order_status": "placed"})).json()

    assert [order["order_id"] for order in every] == [second["order_id"], first["order_id"]]
    assert standing == [second]


async def test_cancel_by_reference(http: Http, book_id: str, ledger: EffectLedger) -> None:
    """A caller that never got the answer can cancel by its own reference."""
    order = (await place(http, book_id, client_reference="r1")).json()
    answer = await http.post("/shop/cancellations", json={"client_reference": "r1"})

    assert answer.status_code == 200
    ended = {"order_id": order["order_id"], "status": "cancelled"}
    assert answer.json() == {**ended, "refund": order["price"]}
    assert ledger.live() == []
    assert (await http.get(f"/shop/orders/{order['order_id']}")).json()["status"] == "cancelled"


async def test_a_cancel_happens_once(http: Http, book_id: str, ledger: EffectLedger) -> None:
    order_id = (await place(http, book_id, client_reference="r1")).json()["order_id"]
    ways = [
        ({"order_id": order_id}, "c1"),
        ({"order_id": order_id}, "c1"),
        ({"order_id": order_id}, "c2"),
        ({"client_reference": "r1"}, "c3"),
    ]
    answers = [
        await http.post("/shop/cancellations", json=body, headers={"Idempotency-Key": key})
        for body, key in ways
    ]

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    effects = [(effect.kind, effect.status) for effect in ledger.effects()]
    assert effects == [("create", "cancelled"), ("cancel", "cancelled")]


async def test_update_makes_no_obligation_and_delete_closes_one(
    http: Http, book_id: str, ledger: EffectLedger
) -> None:
    """A DELETE cancels without a contract, once, and answers without a body."""
    order = (await place(http, book_id)).json()
    where = f"/shop/orders/{order['order_id']}"
    approved = await http.put(f"{where}/approval")
    read, live = await http.get(where), len(ledger.live())
    answers = [await http.delete(where) for _ in range(2)]

    assert read.json() == approved.json() == {**order, "status": "approved"}
    assert (live, ledger.live()) == (1, [])
    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 2
    assert [effect.kind for effect in ledger.effects()] == ["create", "update", "cancel"]


async def test_obligation_on_a_known_resource_is_cancelled_alone_and_repeatedly(
    http: Http, book_id: str, ledger: EffectLedger
) -> None:
    """Shipping an order is an obligation of its own: each recall ends it, and the order stands."""
    order_id = (await place(http, book_id)).json()["order_id"]
    standing = []
    for _ in range(2):
        shipped = await http.post(f"/shop/orders/{order_id}/shipping")
        recalled = await http.delete(f"/shop/orders/{order_id}/shipping")
        standing.append([effect.operation for effect in ledger.live()])

    assert (shipped.status_code, recalled.status_code) == (201, 200)
    assert shipped.json()["order_id"] == order_id
    assert (shipped.json()["status"], recalled.json()["status"]) == ("shipped", "placed")
    assert (await http.get(f"/shop/orders/{order_id}")).json()["status"] == "placed"
    assert standing == [["order_place"], ["order_place"]]
    kinds = [effect.kind for effect in ledger.effects()]
    assert kinds == ["create", "create", "cancel", "create", "cancel"]


async def test_numbers_may_name_things(open_app: Opener, shop: Json) -> None:
    """An order whose id is an integer is found and cancelled by it."""
    number = {"type": "integer"}
    shop["components"]["schemas"]["Order"]["properties"]["order_id"] = number
    cancel = shop["paths"]["/cancellations"]["post"]["requestBody"]["content"]["application/json"]
    cancel["schema"]["properties"]["order_id"] = number
    async with open_app() as http:
        books = await search(http, author="Eco")
        order_id = (await place(http, books[0]["book_id"])).json()["order_id"]
        found = await http.get(f"/shop/orders/{order_id}")
        cancelled = await http.post("/shop/cancellations", json={"order_id": order_id})

    assert isinstance(order_id, int)
    assert found.json()["order_id"] == order_id
    assert cancelled.status_code == 200


@pytest.mark.parametrize(
    ("contract", "effects"),
    [
        ({}, 1),
        ({"x-orchet-requires-confirmation": "structured-order"}, 1),
        ({"x-orchet-requires-confirmation": False}, 1),
        ({"x-orchet-read-only": False}, 1),
        ({"x-orchet-read-only": True}, 0),
    ],
)
async def test_silent_contract_counts_as_an_effect(
    open_app: Opener, shop: Json, ledger: EffectLedger, contract: Json, effects: int
) -> None:
    """A POST that answers 200 is a read only where its contract says so."""
    operation = shop["paths"]["/vouchers"]["post"]
    operation["responses"]["200"] = operation["responses"].pop("201")
    operation |= contract
    async with open_app() as http:
        answer = await http.post("/shop/vouchers", headers={"Authorization": "Bearer t"})

    assert answer.status_code == 200
    made = [(effect.resource_type, effect.resource_id) for effect in ledger.live()]
    assert made == [("voucher", answer.json()["voucher_id"])][:effects]


async def test_price_is_carried_into_another_name_and_shape(open_app: Opener, shop: Json) -> None:
    """The offer has price {amount, currency}; the order has a plain number named total."""
    order = shop["components"]["schemas"]["Order"]
    order["properties"]["total"] = {"type": "number"}
    del order["properties"]["price"]
    order["required"] = ["order_id", "status", "total"]
    async with open_app() as http:
        book = (await search(http, author="Eco"))[0]
        placed = (await place(http, book["book_id"])).json()

    assert placed["total"] == book["price"]["amount"]


async def test_list_is_cut_where_its_document_says(open_app: Opener, shop: Json) -> None:
    """An answer of at most two orders has two, however many there are."""
    content = shop["paths"]["/orders"]["get"]["responses"]["200"]["content"]
    content["application/json"]["schema"]["maxItems"] = 2
    async with open_app() as http:
        book = (await search(http, author="Eco"))[0]
        made = [(await place(http, book["book_id"], key=f"k{n}")).json() for n in range(3)]
        listed = (await http.get("/shop/orders")).json()

    assert listed == [made[2], made[1]]


async def test_one_reference_may_name_things_of_two_kinds(open_app: Opener, shop: Json) -> None:
    """A cancel of an order by reference does not see the voucher of that reference."""
    reference = {"type": "object", "properties": {"client_reference": {"type": "string"}}}
    content = {"application/json": {"schema": reference}}
    shop["paths"]["/vouchers"]["post"] |= {"requestBody": {"content": content}, "security": []}
    async with open_app() as http:
        await http.post("/shop/vouchers", json={"client_reference": "r1"})
        early = await http.post("/shop/cancellations", json={"client_reference": "r1"})
        book = (await search(http, author="Eco"))[0]
        placed = await place(http, book["book_id"], client_reference="r1")
        late = await http.post("/shop/cancellations", json={"client_reference": "r1"})

    assert [early.status_code, placed.status_code, late.status_code] == [404, 201, 200]
    assert late.json()["order_id"] == placed.json()["order_id"]


async def test_effects_say_who_and_how_much(http: Http, book_id: str, ledger: EffectLedger) -> None:
    """A cancel by id is recorded with the reference and the amount of the cancelled resource."""
    order = (await place(http, book_id, client_reference="r1")).json()
    headers = {"Idempotency-Key": f"{KEY}.cancel", "X-Request-Id": f"{KEY}.cancel"}
    await http.post("/shop/cancellations", json={"order_id": order["order_id"]}, headers=headers)
    created, cancelled = ledger.effects("m1")

    assert (created.operation, cancelled.operation) == ("order_place", "order_cancel")
    assert (created.idempotency_key, cancelled.idempotency_key) == (KEY, f"{KEY}.cancel")
    assert (created.request_id, cancelled.request_id) == (None, f"{KEY}.cancel")
    for effect in (created, cancelled):
        assert effect.provider == "shop"
        assert (effect.resource_type, effect.resource_id) == ("order", order["order_id"])
        assert effect.client_reference == "r1"
        assert effect.to_json()["amount"] == order["price"]["amount"]
        assert effect.currency == "EUR"
        assert effect.at == "2026-11-20T12:00:00Z"
