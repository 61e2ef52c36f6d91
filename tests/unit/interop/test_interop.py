"""How a disagreement with the independent server is judged, without that server."""

import json
from typing import Any

import httpx
import pytest

from tests.interop.calls import Call
from tests.interop.listing import Listed, listed, named, write_manifest
from tests.interop.missions import Effect, Outcome, Played, scripts
from tests.interop.prism import Judgement, Violation, judgement_of
from tests.interop.verdicts import Umpire, of_answer, of_request, read_form, says

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "nullable": True}},
}
_DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/pets": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": _SCHEMA}}},
                "responses": {"200": {"content": {"application/json": {"schema": _SCHEMA}}}},
            }
        }
    },
}


def _call(judgement: Judgement, **more: Any) -> Call:
    call = Call("add", "POST /pets", "all", judgement=judgement, content_type="application/json")
    for name, value in more.items():
        setattr(call, name, value)
    return call


@pytest.mark.parametrize(
    ("meant", "text"),
    [
        ({"a": 1, "b": [True, "x"]}, "a=1&b=true&b=x"),
        ({"items": [{"price": "p", "n": 2}]}, "items[0][price]=p&items[0][n]=2"),
        ({"m": {"k": "v"}}, "m%5Bk%5D=v"),
        ({"m": {"k": "v"}}, "m=%7B%22k%22%3A%22v%22%7D"),
        ({"tags": ["one"]}, "tags=one"),
    ],
)
def test_a_form_says_what_was_meant(meant: Any, text: str) -> None:
    """Nested by brackets or as JSON, lists repeated or alone."""
    assert says(meant, read_form(text))


@pytest.mark.parametrize("text", ["a=2", "b=1", "a[x]=1"])
def test_a_form_that_says_another_thing_is_seen(text: str) -> None:
    assert not says({"a": 1}, read_form(text))


def test_what_a_third_reader_finds_right_is_not_ours() -> None:
    """A body that Prism refuses and its schema takes; an answer that we alone refuse is ours."""
    refused = Judgement(422, request=(Violation("request.body.name", "type", "must be string"),))
    right = of_request(_call(refused, meant={"name": None}), Umpire(_DOCUMENT))
    wrong = of_request(_call(refused, meant={}), Umpire(_DOCUMENT))

    assert right is not None and right.side == "prism"
    assert wrong is not None and wrong.side == "ours"
    verdict = of_request(Call("a", "POST /pets", "all", not_sent="a is missing"), Umpire({}))
    assert verdict is not None and verdict.side == "ours"
    answered = {"answer_type": "application/json", "breach": "name is missing"}
    ours = of_answer(_call(Judgement(200), answer='{"name": "x"}', **answered), Umpire(_DOCUMENT))
    theirs = of_answer(_call(Judgement(200), answer="{}", **answered), Umpire(_DOCUMENT))
    assert ours is not None and ours.side == "ours"
    assert theirs is not None and theirs.side == "document"


def test_prism_is_read() -> None:
    """Violations of the header and of its own problem; a problem of the document is none of it."""
    entry = {"location": ["request", "query", "q"], "severity": "Error", "message": "no"}
    problem = {"type": "https://stoplight.io/prism/errors#NO_PATH_MATCHED_ERROR", "status": 404}
    kind = {"content-type": "application/problem+json"}
    refused = judgement_of(httpx.Response(400, headers={"sl-violations": json.dumps([entry])}))
    lost = judgement_of(httpx.Response(404, headers=kind, json=problem))
    mocked = judgement_of(httpx.Response(404, headers=kind, json={"type": "https://x.com/gone"}))

    assert [v.place for v in refused.request] == ["request.query.q"]
    assert lost.problem == "NO_PATH_MATCHED_ERROR"
    assert mocked.accepted


def test_a_folder_says_what_it_holds(tmp_path: Any) -> None:
    """By its manifest; else every file that is an OpenAPI document."""
    (tmp_path / "shop.yaml").write_text("openapi: 3.1.0\n")
    (tmp_path / "schema.yaml").write_text("type: object\n")
    found = listed(tmp_path)
    write_manifest(tmp_path, [Listed("shop", "shop.yaml", commit="c")])

    assert [entry.name for entry in found] == ["shop.yaml"]
    assert listed(tmp_path) == [Listed("shop", "shop.yaml", commit="c")]


def test_missions_are_of_documents_that_can_be_brought() -> None:
    assert {script.document for script in scripts()} <= {entry.name for entry in named()}


@pytest.mark.parametrize(
    ("ends", "left", "is_ok"),
    [("rolled_back", "cancelled", True), ("rolled_back", "live", False), ("failed", "", False)],
)
def test_a_rollback_holds_where_nothing_is_left(ends: str, left: str, is_ok: bool) -> None:
    """What the sandbox says counts, and a mission that never made anything shows nothing."""
    done = Played("m", "g", "succeeded", 1, "", (Effect("make", "create", "live"),))
    effects = (Effect("make", "create", left),) if left else ()
    outcome = Outcome("d", 1, 1, 1, 0, done, "", Played("m", "g", ends, 1, "", effects))

    assert outcome.is_ok is is_ok
