"""A card says how its notice stands."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette

from orchestrator.messages.notice import NoticeOfCard
from orchestrator.messages.open_waits import Waiting
from orchestrator.web import pages
from orchestrator.web.pages import card, inbox
from tests.unit.web.pages.samples import hostile, hostile_card
from tests.unit.web.pages.stand_ins import ORIGIN, FakeClient, service_of

CARD = hostile_card()


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
