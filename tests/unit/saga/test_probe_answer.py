"""What a probe says of one obligation: only what its document declares, and only about that one."""

from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Compensation, InputBinding, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.probe_answer import own_names, read_probe
from tests.fakes import fake_tool

REFERENCE = "m.1-leg.1"
CANCELLED = '$response.body#/status == "cancelled"'


def book(
    *, probe_by: str = "$request.body#/client_reference", gone_when: str | None = None
) -> Tool:
    """A booking with a reference of its own, cancelled by its id, looked up by `probe_by`."""
    contract = Compensation(
        cancel=ToolCallTemplate(tool="cancel", arguments={"booking": "$response.body#/id"}),
        probe=ToolCallTemplate(tool="find", arguments={"by": probe_by}),
        gone_when=(gone_when,) if gone_when else (),
    )
    bindings = tuple(
        InputBinding(name=name, location="body", field=name) for name in ("client_reference", "day")
    )
    made = fake_tool("book", cancel_tool="cancel")
    update = {"compensation": contract, "bindings": bindings}
    return made.model_copy(update={**update, "reference_inputs": ("client_reference",)})


def says(
    outcome: ToolOutcome,
    *,
    known: JsonObject | None = None,
    promised: JsonObject | None = None,
    **stated: Any,
) -> str:
    """What that answer says of a booking with the reference, and an id where one is known."""
    tool = book(**stated)
    find = fake_tool("find").model_copy(update={"output_schema": promised})
    catalog = Catalog({}, {t.name: t for t in (tool, fake_tool("cancel"), find)})
    asked: JsonObject = {"by": REFERENCE if "probe_by" not in stated else "2026-12-03"}
    own = own_names(catalog, tool, asked=asked, known=known or {})
    assert tool.compensation is not None
    return read_probe(outcome, own, tool.compensation).says


def found(body: JsonValue) -> ToolOutcome:
    return ToolOutcome(kind="succeeded", status=200, body=body)


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("declared", [True, False])
def test_only_a_declared_not_found_says_that_it_is_gone(status: int, declared: bool) -> None:
    """A gateway says 404 too."""
    missing = ToolOutcome(kind="rejected", status=status, declared=declared)

    assert says(missing) == ("gone" if declared else "nothing")


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422])
def test_another_refusal_is_of_the_probe(status: int) -> None:
    refused = ToolOutcome(kind="rejected", status=status, declared=True)

    assert says(refused) == "refused"


def test_an_answer_that_breaks_its_contract_says_nothing() -> None:
    broken = ToolOutcome(kind="unknown", status=200, contract_breach="id is missing", body={})

    assert says(broken) == "nothing"


@pytest.mark.parametrize(
    ("body", "known", "expected"),
    [
        ({"id": "b1"}, None, "held"),
        ({"id": "b1", "client_reference": REFERENCE}, None, "held"),
        ({"id": "b1", "client_reference": "another"}, None, "nothing"),
        ({"id": "b1", "client_reference": None}, None, "held"),
        ({"id": "b1"}, {"booking": "b1"}, "held"),
        ({"id": "b2"}, {"booking": "b1"}, "nothing"),
        ({"id": 7}, {"booking": "7"}, "held"),
        ({"id": "b2", "client_reference": REFERENCE}, {"booking": "b1"}, "held"),
        ([{"client_reference": "another"}, {"client_reference": REFERENCE}], None, "held"),
        ({"items": [{"client_reference": "another"}]}, None, "nothing"),
        ({"client_reference": "another", "next": {"client_reference": REFERENCE}}, None, "nothing"),
    ],
)
def test_of_another_it_says_nothing(
    body: JsonValue, known: JsonObject | None, expected: str
) -> None:
    """By the reference that was sent, or the id that the provider gave; what is inside too."""
    assert says(found(body), known=known) == expected


@pytest.mark.parametrize(
    ("body", "known", "expected"),
    [
        ({"id": "b1"}, None, "another"),
        ({"id": "b1"}, {"booking": "b1"}, "held"),
        ({"id": "b1", "day": "2026-12-03"}, None, "another"),
    ],
)
def test_what_was_asked_for_by_what_others_share_must_name_it(
    body: JsonValue, known: JsonObject | None, expected: str
) -> None:
    """Somebody else may have booked for that day."""
    assert says(found(body), known=known, probe_by="$request.body#/day") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"status": "cancelled"}, "gone"),
        ({"status": "confirmed"}, "held"),
        ({"id": "b1"}, "nothing"),
        ({"status": "cancelled", "client_reference": "another"}, "nothing"),
    ],
)
def test_what_is_found_may_be_declared_to_be_gone(body: JsonValue, expected: str) -> None:
    """Many providers keep what was cancelled; a state that is not said says nothing."""
    assert says(found(body), gone_when=CANCELLED) == expected


def test_an_empty_list_may_be_declared_to_be_gone() -> None:
    empty = "!$response.body#/bookings/0"

    assert says(found({"bookings": []}), gone_when=empty) == "gone"
    assert says(found({"bookings": [{"id": "b1"}]}), gone_when=empty) == "held"


THING: JsonObject = {
    "type": "object",
    "required": ["id", "client_reference"],
    "properties": {"id": {"type": "string"}, "client_reference": {"type": "string"}},
}
LIST: JsonObject = {
    "type": "object",
    "properties": {"bookings": {"type": "array", "items": THING}, "total": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("body", "promised", "expected"),
    [
        ({"bookings": [], "total": 0}, LIST, "nothing"),
        ({"bookings": [], "total": 0}, None, "nothing"),
        ({"id": ""}, None, "nothing"),
        ({}, None, "nothing"),
        ([], None, "nothing"),
        ({"id": "b1"}, None, "held"),
        ({"id": "b1"}, THING, "nothing"),
        ({"id": "b1", "client_reference": REFERENCE}, THING, "held"),
        ({"bookings": [{"id": "b1", "client_reference": REFERENCE}]}, LIST, "held"),
    ],
)
def test_an_answer_that_shows_nothing_says_nothing(
    body: JsonValue, promised: JsonObject | None, expected: str
) -> None:
    """An empty list is no booking; what the document promises to tell has to be told."""
    assert says(found(body), promised=promised) == expected


def _listed(*states: tuple[str, str]) -> JsonObject:
    listed: list[JsonValue] = [{"client_reference": r, "status": s} for r, s in states]
    return {"bookings": listed}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (_listed((REFERENCE, "cancelled")), "gone"),
        (_listed(("another", "cancelled"), (REFERENCE, "confirmed")), "held"),
        (_listed(("another", "confirmed"), (REFERENCE, "cancelled")), "gone"),
        (_listed((REFERENCE, "cancelled"), (REFERENCE, "confirmed")), "held"),
        (_listed((REFERENCE, "cancelled"), (REFERENCE, "cancelled")), "gone"),
        (_listed(("another", "cancelled")), "nothing"),
    ],
)
def test_of_a_list_it_goes_by_what_is_ours(body: JsonValue, expected: str) -> None:
    """Wherever it stands there; and as long as one of several stands, it stands."""
    first = '$response.body#/bookings/0/status == "cancelled"'

    assert says(found(body), gone_when=first) == expected
