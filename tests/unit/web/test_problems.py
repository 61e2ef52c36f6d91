"""Problems: each error of the library has a status, and no value of a request comes back."""

import httpx
import pytest
from pydantic import TypeAdapter, ValidationError

from orchestrator.core import errors
from orchestrator.web.api.cards import Decisions
from orchestrator.web.problem_details import MEDIA_TYPE, invalid_body, problem_of
from orchestrator.web.web_app import create_app
from tests.unit.web.pages.stand_ins import ORIGIN, FakeClient, service_of


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.MissionNotFound("trip-1"), 404, "MissionNotFound"),
        (errors.MissionIdTaken("trip-1"), 409, "MissionIdTaken"),
        (errors.CardUnknown("c", "closed"), 404, "CardUnknown"),
        (errors.ConfirmationError("c", "x", code="DigestMismatch"), 409, "DigestMismatch"),
        (errors.ConfirmationError("c", "x", code="ApproverRefused"), 403, "ApproverRefused"),
        (errors.ConfirmationError("c", "x", code="AmendmentInvalid"), 422, "AmendmentInvalid"),
        (errors.SignatureRefused("c", "x"), 403, "SignatureRefused"),
        (errors.QuestionError("q", "x", code="AnswerInvalid"), 422, "AnswerInvalid"),
        (errors.SessionError("s", "x", code="SessionOver"), 409, "SessionOver"),
        (errors.UsageError("x", code="PolicyWidened"), 403, "PolicyWidened"),
        (errors.UsageError("x"), 400, "UsageError"),
        (errors.ServerUnreachable("127.0.0.1:1"), 503, "ServerUnreachable"),
    ],
    ids=lambda one: one.code if isinstance(one, errors.OrchestratorError) else "",
)
def test_errors_have_their_status(error: errors.OrchestratorError, status: int, code: str) -> None:
    problem = problem_of(error)

    assert (problem.problem.status, problem.problem.code) == (status, code)
    assert ("Retry-After" in problem.headers) is (status == 503)


def test_a_bug_says_nothing_of_itself() -> None:
    problem = problem_of(ValueError("secret of the process")).problem

    assert problem.status == 500
    assert "secret" not in problem.detail


def test_pointers_lead_into_the_body_and_repeat_no_value() -> None:
    """Tags of unions are no part of a pointer; names are escaped; there are at most twenty."""
    body = {
        "decisions": [
            {"confirmation_id": "a", "decision": {"kind": "approve", "digest": "planted"}},
            {"confirmation_id": "b", "decision": {"kind": "reject", "a/b~c": "planted"}},
            *({"confirmation_id": 1} for _ in range(50)),
        ]
    }
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Decisions).validate_python(body, extra="forbid")
    problem = invalid_body(refused.value, body).problem  # type: ignore[arg-type]
    pointers = [one.pointer for one in problem.errors]
    assert pointers[0] == "/decisions/0/decision/digest"
    assert "/decisions/1/decision/a~1b~0c" in pointers
    assert len(pointers) == 20
    assert "planted" not in problem.model_dump_json()


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
