"""What holds for every page: headers, identification, foreign forms, errors, paging."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final, cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from orchestrator.confirmation.models import DecisionRecord
from orchestrator.core import errors
from orchestrator.messages.leg import LegResult, LegStatus, Question
from orchestrator.messages.notice import NoticeOfCard
from orchestrator.messages.open_waits import Waiting
from orchestrator.web import pages
from orchestrator.web.pages import card, inbox
from orchestrator.web.pages.inbox import paged
from orchestrator.web.pages.start_page import request_of
from orchestrator.web.pages.timeline import WIDTH, timeline_of
from orchestrator.web.people import Person, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.csrf import CsrfProtection
from tests.unit.web.pages import samples
from tests.unit.web.pages.samples import hostile
from tests.unit.web.pages.stand_ins import ANA, ORIGIN, FakeClient, browser, service_of

CARD: Final = samples.hostile_card(approvals_needed=1, approved_by=())
ADDRESS: Final = f"/cards/{CARD.confirmation_id}"
APPROVE: Final = {"decision": "approve", "digest": CARD.digest}
VIEWER: Final = ANA.model_copy(update={"subject": "vi@example.com", "roles": (Role.VIEWER,)})
STRANGER: Final = Person(
    subject="eve@example.com", roles=(Role.REQUESTER,), proved_by="cookie", sees_all=False
)


def waiting_card(**changes: Any) -> FakeClient:
    card = CARD.model_copy(update=changes)
    return FakeClient(waiting=Waiting(cards=(card,)), results=[samples.RESULT])


async def post(
    client: FakeClient,
    data: dict[str, str],
    *,
    person: Person | None = ANA,
    path: str = ADDRESS,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    async with browser(client, person) as pages:
        return await pages.post(path, data=data, headers=headers)


@pytest.mark.parametrize("path", ["/", ADDRESS, "/cards/no.such.card", "/missions", "/start"])
async def test_every_page_has_a_strict_policy(path: str) -> None:
    """Scripts and styles from this host only; nobody frames it, nothing keeps it."""
    async with browser(waiting_card()) as pages:
        headers = (await pages.get(path)).headers
    policy = headers["content-security-policy"]

    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


async def test_assets_have_etags() -> None:
    """A browser asks again and is told that nothing changed."""
    async with browser(FakeClient()) as pages:
        first = await pages.get("/static/pages.css")
        known = {"If-None-Match": first.headers["etag"]}
        again = await pages.get("/static/pages.css", headers=known)

    assert "max-age" in first.headers["cache-control"]
    assert again.status_code == 304


async def test_signed_out_readers_are_sent_to_sign_in() -> None:
    async with browser(waiting_card(), None) as pages:
        answer = await pages.get("/missions?status=parked")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Fmissions%3Fstatus%3Dparked"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"{ORIGIN}.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
    ],
)
async def test_forms_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    """Whatever they hold, the token of the page as well: nothing reaches the mission."""
    client = waiting_card()
    guard = Middleware(CsrfProtection, secret=b"s" * 32, session_of=lambda _: "a session")
    async with browser(client, guards=[guard]) as pages:
        token = (await pages.get(ADDRESS)).text.split('name="csrf_token" value="')[1][:64]
        form = {**APPROVE, "csrf_token": token}
        answer = await pages.post(ADDRESS, data=form, headers=headers)

    assert answer.status_code == 403
    assert client.decided == []


async def test_a_card_links_its_mission_but_no_saga() -> None:
    client = waiting_card()
    link = f'href="/missions/{CARD.mission_id}"'
    async with browser(client) as pages:
        of_mission = (await pages.get(ADDRESS)).text
        client.connection.workflow_of = lambda _: "a-workflow-of-a-user"
        of_saga = (await pages.get(ADDRESS)).text

    assert link in of_mission
    assert link not in of_saga
    assert f"Saga <code>{CARD.mission_id}</code>" in of_saga


@pytest.mark.parametrize("headers", [{}, {"origin": ORIGIN, "sec-fetch-site": "same-origin"}])
async def test_an_approval_carries_the_digest_of_the_form(headers: dict[str, str]) -> None:
    """It is sent as the person's, and the answer leads back to the card."""
    client = waiting_card()
    answer = await post(client, APPROVE, headers=headers)
    (decision,) = client.decided

    assert answer.status_code == 303
    assert answer.headers["location"] == ADDRESS
    assert decision.model_dump(include={"kind", "digest", "approver"}) == {
        "kind": "approve",
        "digest": CARD.digest,
        "approver": ANA.subject,
    }


STALE: Final = {"digest": "cd" * 32, "reason": "no", "text": "other"}
REFUSED: Final[dict[str, tuple[dict[str, str], Person | None, int, str]]] = {
    "signed out": (APPROVE, None, 401, "/sign-in"),
    "a viewer": (APPROVE, VIEWER, 403, ""),
    "a stranger": (APPROVE, STRANGER, 404, ""),
    "too large": ({**APPROVE, "text": "x" * 300_000}, ANA, 413, ""),
    "no digest": ({**APPROVE, "digest": ""}, ANA, 409, "has changed"),
    **{
        f"{kind} of another digest": ({"decision": kind, **STALE}, ANA, 409, "has changed")
        for kind in ("approve", "amend", "reject", "respond")
    },
    "no reason": ({"decision": "reject", "reason": " "}, ANA, 422, 'role="alert"'),
    "no text": ({"decision": "respond", "text": ""}, ANA, 422, 'role="alert"'),
    "a long text": ({"decision": "respond", "text": "x" * 2001}, ANA, 422, 'role="alert"'),
    "no number": ({"decision": "amend", "argument.party_size": "many"}, ANA, 422, 'role="alert"'),
    "no change": ({"decision": "amend"}, ANA, 422, 'role="alert"'),
    "no input of the card": (
        {"decision": "amend", "argument.price": "1"},
        ANA,
        422,
        'role="alert"',
    ),
}
"""Forms, who sends each, and the answer: its status, and what the page shows."""


@pytest.mark.parametrize("why", REFUSED)
async def test_a_refused_form_decides_nothing(why: str) -> None:
    """An incomplete one is shown again; after a change the card as it is now."""
    form, person, status, shows = REFUSED[why]
    client = waiting_card()
    answer = await post(client, {"digest": CARD.digest, **form}, person=person)

    assert answer.status_code == status
    assert client.decided == []
    assert shows in answer.text


async def test_a_sign_in_that_is_too_old_leads_to_another() -> None:
    """The policy wants a fresh one: the page says so, with the way there and back."""
    client = waiting_card()
    client.refusal = errors.SignInTooOld(CARD.confirmation_id, "sign in again", max_age_s=300)
    answer = await post(client, APPROVE)

    assert answer.status_code == 401
    assert client.decided == []
    assert f'href="/sign-in?next={ADDRESS}&amp;max_age=300"' in answer.text


async def test_a_stranger_finds_nothing() -> None:
    """Cards, missions and rollbacks of others do not exist for them."""
    client = waiting_card()
    async with browser(client, STRANGER) as pages:
        found = [
            (await pages.get(path)).status_code
            for path in (ADDRESS, "/missions/m", "/missions/m/rollback", "/missions/m/events")
        ]

    assert found == [404, 404, 404, 404]


async def test_a_server_that_is_away_is_a_page_that_tries_again() -> None:
    """Temporal does not answer: no list is empty because of it."""
    client = waiting_card()
    client.away = errors.ServiceUnavailable("Temporal does not answer")
    async with browser(client) as pages:
        answer = await pages.get("/")

    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert "data-retry" in answer.text
    assert "Temporal does not answer" in answer.text


async def test_a_decided_card_says_who_and_when() -> None:
    """A replayed form of it decides nothing and shows the decision."""
    client = FakeClient(results=[samples.RESULT])
    answer = await post(client, APPROVE, path="/cards/m.1-dinner.2")

    assert answer.status_code == 409
    assert client.decided == []
    assert "Rejected by approver" in answer.text


async def test_several_are_approved_each_with_its_digest() -> None:
    """A refusal of one is listed; the others stand."""
    other = CARD.model_copy(update={"confirmation_id": "n.1-leg.2", "digest": "ef" * 32})
    client = FakeClient(waiting=Waiting(cards=(CARD, other)))
    form: dict[str, Any] = {
        "card": [CARD.confirmation_id, other.confirmation_id, "gone.1-leg.1"],
        f"digest.{CARD.confirmation_id}": CARD.digest,
        f"digest.{other.confirmation_id}": other.digest,
    }
    answer = await post(client, form, path="/review")

    assert answer.status_code == 409
    assert answer.text.count("Not approved") == 1
    assert [getattr(one, "digest", "") for one in client.decided] == [CARD.digest, other.digest]


@pytest.mark.parametrize(
    ("asked", "number", "first", "last"),
    [("", 1, 1, 50), ("2", 2, 51, 100), ("99", 3, 101, 120), ("-1", 1, 1, 50), ("٣", 3, 101, 120)],
)
def test_pages_of_a_list(asked: str, number: int, first: int, last: int) -> None:
    """A page that does not exist is the nearest one; an empty list has one."""
    page, none = paged(range(120), asked, size=50), paged(range(0), asked, size=50)

    assert (page.number, page.first, page.last, page.pages) == (number, first, last, 3)
    assert list(page.items) == [*range(first - 1, last)]
    assert (none.number, none.pages, none.first, none.last) == (1, 1, 0, 0)


async def test_500_cards_are_in_pages() -> None:
    """The first to expire are on the first page, and the rest is a link away."""
    cards = tuple(
        CARD.model_copy(update={"confirmation_id": f"m{n:03}.1-leg.1", "expires_at": None})
        for n in range(500)
    )
    async with browser(FakeClient(waiting=Waiting(cards=cards))) as pages:
        first = (await pages.get("/")).text
        last = (await pages.get("/?page=10")).text

    assert first.count('<li class="entry"') == last.count('<li class="entry"') == 50
    assert "m000.1-leg.1" in first
    assert "m499.1-leg.1" in last
    assert 'href="/?page=2"' in first


BEGIN: Final = datetime.fromisoformat("2026-12-01T12:00:00+00:00")


def after(minutes: float) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


def test_waits_are_bars_from_their_opening_to_their_end() -> None:
    """Of cards that were decided, and of what waits now; the list has them in words."""
    decided = DecisionRecord(
        confirmation_id="m.1-a.1",
        kind="approved",
        approver="ana@example.com",
        at=after(10),
        digest="d",
        opened_at=BEGIN,
    )
    a = LegResult(
        leg_id="1-a", agent="a", goal="g", status=LegStatus.SUCCEEDED, decisions=(decided,)
    )
    changes: dict[str, Any] = {"legs": (a,), "started_at": BEGIN, "finished_at": None}
    result = samples.RESULT.model_copy(update={**changes, "plan_decisions": (), "holds": ()})
    asked = Question(
        question_id="m:1",
        mission_id="m",
        leg_id="",
        question="When?",
        fields={},
        asked_at=after(10),
    )
    drawing = timeline_of(result, Waiting(questions=(asked,)), now=after(20))

    assert drawing is not None
    mission, leg = drawing.lanes[0], drawing.lanes[1]
    assert [one.text for one in leg.waits] == ["wait for a decision"]
    assert leg.waits[0].x + leg.waits[0].width == leg.marks[0].x
    assert [(one.begun, one.ended) for one in mission.waits] == [(after(10), after(20))]
    assert mission.waits[0].x + mission.waits[0].width <= WIDTH
    assert (mission.label, after(10), "begins to wait for an answer") in drawing.events


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        (NoticeOfCard(state="delivered", channels=("ops", "slack")), "announced by ops, slack"),
        (NoticeOfCard(state="waiting"), "its notice is under way"),
        (NoticeOfCard(state="failed", error=hostile("error")), "could not be delivered"),
        (NoticeOfCard(state="none"), ""),
    ],
)
@pytest.mark.parametrize("path", ["/", f"/cards/{CARD.confirmation_id}"])
async def test_the_notice_of_a_card(
    path: str, notice: NoticeOfCard, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delivered and by what, under way, or failed and why; nothing where none is sent."""

    async def notices_of(*_: Any) -> dict[str, NoticeOfCard]:
        return {CARD.confirmation_id: notice}

    async def notice_of(*_: Any) -> NoticeOfCard:
        return notice

    monkeypatch.setattr(inbox, "notices_of", notices_of)
    monkeypatch.setattr(card, "notice_of", notice_of)
    service = service_of(FakeClient(waiting=Waiting(cards=(CARD,))))
    app = Starlette(routes=pages.routes(replace(service, store=cast("Any", SimpleNamespace()))))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as reader:
        page = (await reader.get(path)).text

    assert text in page
    assert ("its notice" in page or "announced by" in page) is bool(text)
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        (" 120.50 ", "120.50"),
        ("1,200", "1200"),
        ("12,000,000.5", "12000000.5"),
        ("120,50", None),
        ("1,20", None),
        ("1.200,50", None),
        ("1,2000", None),
        (",5", None),
    ],
)
def test_a_decimal_comma_is_no_thousands_separator(typed: str, amount: str | None) -> None:
    """A budget of 120,50 must not become one of 12,050."""
    form = defaultdict(str, goal="go", amount=typed)

    if amount is None:
        with pytest.raises(ProblemError):
            request_of(form)
    else:
        budget = request_of(form).budget
        assert budget is not None
        assert budget.amount == Decimal(amount)
