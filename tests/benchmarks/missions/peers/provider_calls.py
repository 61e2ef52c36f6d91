"""The provider calls that every peer's author writes by hand; ours are read from documents."""

import os

import httpx

KEYED = os.environ.get("PEERS_KEYED", "1") == "1"
LEAVING, RETURNING = os.environ["TRIP_DATES"].split()
TRAVEL = {"departure_date": LEAVING, "return_date": RETURNING}
STAY = {"city": "Lisbon", "check_in": LEAVING, "check_out": RETURNING}
_http: httpx.AsyncClient | None = None


class Refused(Exception):
    """The provider said no for good; anything else is worth another attempt."""


async def send(method: str, path: str, step: str, key: str, **arguments: object) -> dict:
    """One call. `step` names it for the witness; `key` is the idempotency key of its author."""
    global _http
    if _http is None:
        _http = httpx.AsyncClient(base_url=os.environ["SANDBOX_URL"], timeout=5, trust_env=False)
    headers = {"X-Request-Id": step, "X-Api-Key": "sandbox"}
    if KEYED and method == "POST":
        headers["Idempotency-Key"] = key
    where = "params" if method == "GET" else "json"
    answer = await _http.request(method, path, headers=headers, **{where: arguments})
    if 400 <= answer.status_code < 500 and answer.status_code != 429:
        raise Refused(f"{path}: {answer.status_code} {answer.text[:200]}")
    answer.raise_for_status()
    return answer.json()


async def search_flights(m: str, key: str) -> dict:
    found = await send(
        "GET",
        "/flights/offers",
        f"{m}.search_flights",
        key,
        origin="Berlin",
        destination="Lisbon",
        **TRAVEL,
    )
    return found["offers"][0]


async def book_flight(m: str, key: str, offer: dict) -> dict:
    return await send(
        "POST",
        "/flights/book",
        f"{m}.book_flight",
        key,
        offer_id=offer["offer_id"],
        traveler_id="TRV-48213",
        client_reference=f"{m}.flight",
    )


async def cancel_flight(m: str, key: str) -> None:
    try:
        await send(
            "POST", "/flights/cancel", f"{m}.cancel_flight", key, client_reference=f"{m}.flight"
        )
    except Refused as refused:
        if "404" not in str(refused):  # it was never booked
            raise


async def search_rooms(m: str, key: str) -> dict:
    return (await send("GET", "/hotels/rooms", f"{m}.search_rooms", key, **STAY))["offers"][0]


async def book_room(m: str, key: str, offer: dict) -> dict:
    return await send(
        "POST",
        "/hotels/bookings",
        f"{m}.book_room",
        key,
        room_offer_id=offer["room_offer_id"],
        traveler_name="Ada Example",
        traveler_email="ada@example.com",
        client_reference=f"{m}.hotel",
    )


async def cancel_room(m: str, key: str) -> None:
    try:
        await send(
            "POST", "/hotels/cancellations", f"{m}.cancel_room", key, client_reference=f"{m}.hotel"
        )
    except Refused as refused:
        if "404" not in str(refused):
            raise


async def file_expense(m: str, key: str, booked: list[dict]) -> dict:
    items = [
        {"description": d, "amount": b["price"]["amount"], "currency": b["price"]["currency"]}
        for d, b in zip(("Flight", "Hotel"), booked, strict=True)
    ]
    return await send(
        "POST",
        "/expenses/reports",
        f"{m}.file_expense",
        key,
        employee_id="EMP-00042",
        items=items,
        client_reference=f"{m}.expense",
    )
