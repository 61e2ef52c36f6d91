"""Missions and cards over HTTP: started once, decided by digest, shown to those who see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.demo import DINING, LEAVING
from orchestrator.testing import eventually
from tests.integration.web.conftest import ANN, BO, LOOKS, OPS, ROOT, person

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from tests.integration.conftest import Witness
    from tests.integration.web.conftest import Api

FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"
TABLE = f"reserve a table for two at an Italian restaurant in Lisbon on {DINING} at 20:00"
READS = f"Search flights from Berlin to Lisbon on {LEAVING}"


async def started(api: httpx.AsyncClient, goal: str = FLIGHT, **more: Any) -> str:
    """The id of a new mission."""
    answer = await api.post("/missions", json={"goal": goal, **more})
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/api/v1/missions/{answer.json()['mission_id']}"
    return str(answer.json()["mission_id"])


async def card_of(api: httpx.AsyncClient, mission_id: str, but: str = "") -> dict[str, Any]:
    """The card that a mission waits at."""

    async def look() -> Any:
        page = (await api.get("/cards", params={"mission_id": mission_id})).json()
        return next((v for v in page["cards"] if v["card"]["confirmation_id"] != but), None)

    view = await eventually(look)
    assert isinstance(view, dict)
    return view


async def approved(api: httpx.AsyncClient, mission_id: str) -> httpx.Response:
    """Approve the card that a mission waits at."""
    card = (await card_of(api, mission_id))["card"]
    approval = {"kind": "approve", "digest": card["digest"]}
    return await api.post(f"/cards/{card['confirmation_id']}/decision", json=approval)


async def ended(api: httpx.AsyncClient, mission_id: str) -> dict[str, Any]:
    """The result document of a mission that is over."""

    async def look() -> Any:
        result = (await api.get(f"/missions/{mission_id}")).json()["result"]
        return result if result.get("finished_at") else None

    result = await eventually(look)
    assert isinstance(result, dict)
    return result


async def test_a_mission_is_started_approved_and_read(api: Api, sandbox: Witness) -> None:
    """What the example of the documentation does, step by step."""
    ann = api(ANN)
    mission_id = await started(ann)
    view = await card_of(ann, mission_id)
    card = view["card"]
    shown = (await ann.get(f"/cards/{card['confirmation_id']}")).json()
    receipt = await approved(ann, mission_id)
    result = await ended(ann, mission_id)
    document = (await ann.get(f"/missions/{mission_id}")).json()
    ledger = (await ann.get(f"/missions/{mission_id}/ledger")).json()
    record = (await ann.get(f"/missions/{mission_id}/record")).json()

    assert shown == view
    assert view["may_decide"] is True
    assert {"Airline", "Origin"} <= {
        line["label"] for part in view["sections"] for line in part["lines"]
    }
    assert receipt.json()["accepted"] == "approved"
    assert result["status"] == "succeeded"
    assert result["requester"] == "ann@example.com"
    (decision,) = result["legs"][-1]["decisions"]
    assert (decision["approver"], decision["digest"]) == ("ann@example.com", card["digest"])
    assert len(await sandbox.live(mission_id)) == 1
    assert [one["state"] for one in ledger["obligations"]] == ["committed"]
    assert record["mission_id"] == mission_id
    assert document["may_change"] is True
    assert document["follow_ups"][0]["kind"] == "cancel"


async def test_one_key_starts_one_mission(api: Api) -> None:
    """Also by another process of the service; another request with the key is refused."""
    key = {"Idempotency-Key": "order 4711"}
    first = await api(ANN).post("/missions", json={"goal": READS}, headers=key)
    again = await api(ANN).post("/missions", json={"goal": READS}, headers=key)
    other = await api(ANN).post("/missions", json={"goal": FLIGHT}, headers=key)
    of_bo = await api(BO).post("/missions", json={"goal": READS}, headers=key)

    assert first.json()["mission_id"] == again.json()["mission_id"]
    assert (other.status_code, other.json()["code"]) == (409, "MissionIdTaken")
    assert of_bo.json()["mission_id"] != first.json()["mission_id"]


async def test_nobody_starts_missions_for_others_but_operators(api: Api) -> None:
    refused = await api(BO).post("/missions", json={"goal": READS, "requester": ANN.subject})
    allowed = await api(OPS).post("/missions", json={"goal": READS, "requester": ANN.subject})

    assert (refused.status_code, refused.json()["code"]) == (403, "RightMissing")
    mission = (await api(ANN).get(f"/missions/{allowed.json()['mission_id']}")).json()
    assert mission["may_change"] is True


async def test_a_plan_starts_nothing(api: Api, client: MissionClient) -> None:
    plan = await api(ANN).post("/plans", json={"goal": FLIGHT, "mission_id": "only-planned"})
    shown = await api(ANN).get("/missions/only-planned")

    assert plan.status_code == 200
    assert plan.json()["legs"][0]["tools"]
    assert shown.status_code == 404


BUDGET = {"amount": "10", "currency": "EUR"}


@pytest.mark.parametrize(
    ("request_", "code", "pointer"),
    [
        (("GET", "/missions?status=parkt", None), "UsageError", ""),
        (("GET", "/missions?cursor=xyz", None), "UsageError", ""),
        (("GET", "/missions?limit=0", None), "RequestInvalid", "/limit"),
        (("GET", "/missions?colour=red", None), "RequestInvalid", ""),
        (("POST", "/missions", {"goal": READS, "mission_id": "mine-1"}), "RequestInvalid", ""),
        (("POST", "/missions", {"goal": READS, "budgett": BUDGET}), "RequestInvalid", "/budgett"),
        (("POST", "/plans", {"goal": "Paint the fence green"}), "PlanRefused", ""),
    ],
    ids=["status", "cursor", "limit", "parameter", "key and id", "a misspelled budget", "no tool"],
)
async def test_a_request_that_cannot_be_used_is_a_problem(
    request_: tuple[str, str, Any], code: str, pointer: str, api: Api
) -> None:
    """A misspelled budget left out, the mission would have no limit."""
    method, path, body = request_
    answer = await api(ANN).request(method, path, json=body, headers={"Idempotency-Key": "k"})
    problem = answer.json()

    assert answer.status_code == (400 if code == "UsageError" else 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] == code
    assert [one["pointer"] for one in problem.get("errors", ())] == [pointer] * bool(pointer)


async def test_several_decisions_have_one_outcome_each(api: Api, sandbox: Witness) -> None:
    """In the order of the request; one that is refused hides no other."""
    ann = api(ANN)
    missions = [await started(ann), await started(ann)]
    cards = [(await card_of(ann, one))["card"] for one in missions]
    stale = "0" * 64
    wanted = [
        (cards[0]["confirmation_id"], {"kind": "approve", "digest": stale}),
        (cards[1]["confirmation_id"], {"kind": "reject", "reason": "no", "then": "rollback"}),
        ("nothing.1-flights.1", {"kind": "approve", "digest": stale}),
        (cards[0]["confirmation_id"], {"kind": "approve", "digest": cards[0]["digest"]}),
    ]
    answer = await ann.post(
        "/decisions",
        json={"decisions": [{"confirmation_id": c, "decision": d} for c, d in wanted]},
    )
    results = [await ended(ann, one) for one in missions]

    outcomes = answer.json()["outcomes"]
    assert answer.status_code == 200
    assert [one["confirmation_id"] for one in outcomes] == [c for c, _ in wanted]
    assert [one["status"] for one in outcomes] == [409, 200, 404, 200]
    assert outcomes[0]["problem"]["code"] == "DigestMismatch"
    assert [one["status"] for one in results] == ["succeeded", "failed"]
    assert len(await sandbox.live(missions[0])) == 1


async def test_amended_card_is_another_card(api: Api) -> None:
    """The old digest approves nothing, and a decision may name the digest that was read."""
    ann = api(ANN)
    mission_id = await started(ann, goal=TABLE.capitalize())
    card = (await card_of(ann, mission_id))["card"]
    there = f"/cards/{card['confirmation_id']}/decision"
    invalid = await ann.post(there, json={"kind": "amend", "changes": {"no_such": 3}})
    amended = await ann.post(
        there, json={"kind": "amend", "changes": {"special_request": "by the window"}}
    )
    assert amended.status_code == 200, amended.text
    new = amended.json()["card"]
    by_old = await ann.post(there, json={"kind": "approve", "digest": card["digest"]})
    read_old = await ann.post(
        there, json={"kind": "reject", "reason": "x", "digest": card["digest"]}
    )
    reject = {"kind": "reject", "reason": "x", "then": "rollback", "digest": new["digest"]}
    rejected = await ann.post(f"/cards/{new['confirmation_id']}/decision", json=reject)

    assert (invalid.status_code, invalid.json()["code"]) == (422, "AmendmentInvalid")
    assert new["digest"] != card["digest"]
    assert by_old.status_code == 409
    assert (read_old.status_code, read_old.json()["code"]) == (409, "DigestMismatch")
    assert rejected.json()["accepted"] == "rejected"


async def test_a_list_has_only_what_its_caller_sees(api: Api) -> None:
    """Page after page, each mission once."""
    carl, dora = person("carl@example.com", *ANN.roles), person("dora@example.com", *BO.roles)
    own = {await started(api(carl), goal=READS) for _ in range(3)}
    others = await started(api(dora), goal=READS)
    seen: list[str] = []
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor:
        query: dict[str, Any] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = await api(carl).get("/missions", params=query)
        seen += [one["mission_id"] for one in page.json()["missions"] if "goal" in one]
        cursor = page.json()["next"]
        assert ("next" in page.links) is bool(cursor)
        pages += 1
    mine = [one for one in seen if one in own]

    assert sorted(mine) == sorted(own)
    assert others not in seen
    assert pages >= 2


async def test_missions_are_found_by_status_requester_text_and_wait(api: Api) -> None:
    eve = person(f"eve-{uuid4()}@example.com", *ANN.roles)
    waits = await started(api(eve))
    reads = await started(api(eve), goal=READS)
    await card_of(api(eve), waits)
    await ended(api(eve), reads)

    async def found(**query: Any) -> set[str]:
        page = await api(ROOT).get("/missions", params={"requester": eve.subject, **query})
        return {one["mission_id"] for one in page.json()["missions"]}

    async def shown() -> bool:
        # The server's search shows a change a moment later.
        now = await found(waiting="any"), await found(status="succeeded")
        return now == ({waits}, {reads})

    await eventually(shown)
    assert await found() == {waits, reads}
    assert await found(waiting="confirmation") == {waits}
    assert await found(waiting="answer") == set()
    assert await found(text="SEARCH FLIGHTS") == {reads}
    assert await found(text=waits) == {waits}
    assert await found(text="no such text") == set()


async def test_what_has_not_changed_is_not_sent_again(api: Api) -> None:
    ann = api(ANN)
    mission_id = await started(ann, goal=READS)
    await ended(ann, mission_id)
    for path in (f"/missions/{mission_id}", "/tools", "/me"):
        first = await ann.get(path)
        second = await ann.get(path, headers={"If-None-Match": first.headers["etag"]})
        other = await ann.get(path, headers={"If-None-Match": '"another"'})

        assert (first.status_code, second.status_code, other.status_code) == (200, 304, 200)
        assert second.content == b""
        assert second.headers["etag"] == first.headers["etag"]


async def test_a_cancelled_mission_is_rolled_back_and_its_rollback_shown(
    api: Api, sandbox: Witness
) -> None:
    ann = api(ANN)
    mission_id = await started(ann, goal=f"{FLIGHT} and {TABLE}")
    await approved(ann, mission_id)

    async def made() -> bool:
        return bool(await sandbox.live(mission_id))

    await eventually(made)
    early = await ann.get(f"/missions/{mission_id}/rollback-preview")
    cancelled = await ann.post(f"/missions/{mission_id}/cancel")
    result = await ended(ann, mission_id)
    report = (await ann.get(f"/missions/{mission_id}/rollback")).json()
    again = await ann.post(f"/missions/{mission_id}/cancel")

    assert early.status_code == 400
    assert (cancelled.status_code, cancelled.content) == (204, b"")
    assert result["status"] == "cancelled"
    assert await sandbox.live(mission_id) == []
    assert {one["state"] for one in report["ledger"]["obligations"]} == {"cancelled"}
    assert again.status_code == 400


async def test_a_success_is_rolled_back_by_a_decision(api: Api, sandbox: Witness) -> None:
    """The preview says what would be cancelled; the record says who wanted it."""
    ann = api(ANN)
    mission_id = await started(ann)
    await approved(ann, mission_id)
    await ended(ann, mission_id)
    preview = (await ann.get(f"/missions/{mission_id}/rollback-preview")).json()
    none_yet = await ann.get(f"/missions/{mission_id}/rollback")
    report = await ann.post(f"/missions/{mission_id}/rollback", json={"reason": "trip is off"})

    assert [one["tool"] for one in preview["obligations"]] == ["flight_book_offer"]
    assert none_yet.status_code == 404
    assert report.status_code == 200
    assert report.json()["order"]["approver"] == "ann@example.com"
    assert await sandbox.live(mission_id) == []


async def test_a_follow_up_is_started_once(api: Api, sandbox: Witness) -> None:
    """A follow-up of another mission is none of this one."""
    ann = api(ANN)
    mission_id = await started(ann)
    await approved(ann, mission_id)
    await ended(ann, mission_id)
    other = await started(ann, goal=READS)
    await ended(ann, other)
    listed = (await ann.get(f"/missions/{mission_id}/follow-ups")).json()["follow_ups"]
    cancel = next(one for one in listed if one["kind"] == "cancel")
    key = {"Idempotency-Key": "cancel it"}
    there = f"/missions/{mission_id}/follow-ups/{cancel['id']}"
    first = await ann.post(there, json={}, headers=key)
    again = await ann.post(there, json={}, headers=key)
    elsewhere = await ann.post(f"/missions/{other}/follow-ups/{cancel['id']}", json={})

    assert first.status_code == 201, first.text
    assert first.json()["mission_id"] == again.json()["mission_id"]
    assert elsewhere.status_code == 400
    await ann.post(f"/missions/{first.json()['mission_id']}/cancel")


async def test_tools_and_the_caller_are_shown(api: Api) -> None:
    tools = (await api(LOOKS).get("/tools")).json()
    tool = await api(LOOKS).get("/tools/flight_book_offer")
    missing = await api(LOOKS).get("/tools/nothing")
    me = (await api(LOOKS).get("/me")).json()

    named = {one["name"]: one for one in tools["tools"]}
    assert named["flight_book_offer"]["cancel_tool"]
    assert named["flight_search_offers"]["card_type"] is None
    assert tool.json()["input_schema"]["properties"]["offer_id"]
    assert missing.status_code == 404
    assert me["rights"] == ["read"]


HOSTILE = (
    "\\' OR StateTransitionCount > 0 OR StateTransitionCount > ",
    "\\' OR WorkflowType = 'MissionWorkflow' OR WorkflowId = '",
    "' OR '1' = '1",
    "ends with \\",
    "nul \0",
    "\u202elive\u202c %_\n",
)


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_filter_is_a_text_whatever_it_holds(api: Api, name: str) -> None:
    """It finds the missions of that name alone, and no query can be written into it."""
    listed = await api(ROOT).get("/missions", params={"requester": name})

    assert (listed.status_code, listed.json().get("missions", [])) == (200, [])


async def test_missions_of_a_name_with_quotes_are_found_by_it(
    api: Api, client: MissionClient
) -> None:
    """A server on SQL finds no name with a backslash, as it escapes it twice."""
    name = "o'neil@example.com"
    mission = await client.start(MissionRequest(goal=READS, requester=name))

    async def listed() -> list[str]:
        answer = await api(ROOT).get("/missions", params={"requester": name})
        return [one["mission_id"] for one in answer.json()["missions"]]

    assert await eventually(listed) == [mission.mission_id]
