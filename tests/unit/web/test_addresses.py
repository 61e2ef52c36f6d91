"""Addresses that the service does not have: a page for a browser, a problem for a program."""

import httpx
import pytest

from orchestrator.web.problem_details import MEDIA_TYPE
from orchestrator.web.web_app import create_app
from tests.unit.web.pages.stand_ins import ORIGIN, FakeClient, service_of


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/missions/a/b/c", 404),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/%00%ff", 404),
        ("DELETE", "/missions", 405),
    ],
)
async def test_an_unknown_address_has_an_answer(method: str, path: str, status: int) -> None:
    app = create_app(service_of(FakeClient()))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as http:
        page = await http.request(method, path, headers={"Accept": "text/html"})
        problem = await http.request(method, path)

    assert page.status_code == problem.status_code == status
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert 'href="/missions"' in page.text
    assert problem.headers["content-type"] == MEDIA_TYPE
    assert problem.json()["status"] == status
    assert page.headers.get("allow") == problem.headers.get("allow")
