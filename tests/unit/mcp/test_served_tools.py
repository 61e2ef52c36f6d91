"""What MCP clients are served of the bundled catalog, in memory and without any connection."""

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import MissionNotFound
from orchestrator.mcp.catalog_tools import CatalogTools, answer_of_call
from orchestrator.mcp.exchange import Exchange, Resumed, read_state
from orchestrator.mcp.mcp_server import mcp_server
from orchestrator.mcp.mission_answers import MissionAnswer, OpenWait
from orchestrator.mcp.mission_tools import MISSION_TOOLS, check_arguments
from orchestrator.messages.leg import Question
from orchestrator.settings import Settings
from orchestrator.web.people import Person, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.door import local_person, local_user
from orchestrator.web.web_service import Service
from tests.shipped import shipped_catalog

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return shipped_catalog()


class NoMissions:
    """A client of a server without missions, or whose every call meets a bug."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def get(self, mission_id: str) -> Any:
        raise self._error


def service(error: Exception) -> Service:
    client = cast("MissionClient", NoMissions(error))
    return Service(client=client, settings=Settings(), identify=local_user("ann"))


async def test_each_tool_has_a_name_a_schema_and_the_hints_of_its_effect(catalog: Catalog) -> None:
    listed = {one.name: one for one in CatalogTools(catalog).listed}

    assert len(listed) == len(catalog.tools)
    for name, one in listed.items():
        tool = catalog.tool(name)
        assert _NAME.fullmatch(name)
        assert one.input_schema["type"] == "object"
        assert one.annotations is not None
        assert one.annotations.read_only_hint is (tool.effect is Effect.READ)
        is_safe = tool.effect in (Effect.READ, Effect.OBLIGATION)
        assert bool(one.annotations.destructive_hint) is not is_safe


async def test_a_pair_is_declared_in_the_terms_of_a_client(catalog: Catalog) -> None:
    """Each expression reads the result or an argument of the listed schema, and names its tool."""
    listed = {one.name: one for one in CatalogTools(catalog).listed}
    pairs = {name: one.meta or {} for name, one in listed.items() if "recovery" in (one.meta or {})}

    assert pairs
    for name, meta in pairs.items():
        operation = meta["recovery"]["compensatingOperation"]
        assert meta["x-orchet-cancels"] == operation["operationId"]
        assert listed[operation["operationId"]].meta is not None
        for value in operation["parameters"].values():
            expression = re.fullmatch(r"\$(request|response)\.body#/([^/]+).*", str(value))
            if expression is not None and expression[1] == "request":
                assert expression[2] in listed[name].input_schema["properties"]


async def test_many_tools_are_listed_by_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tool once; a cursor that no page has given is refused."""
    person = local_person("ann")
    server = mcp_server(service(ValueError()), lambda _: person, inbox="http://inbox")
    async with Client(server, mode="legacy") as mcp:
        whole = [one.name for one in (await mcp.list_tools()).tools]
        monkeypatch.setattr("orchestrator.mcp.mcp_server._TOOLS_PER_PAGE", 30)
        paged: list[str] = []
        cursor: str | None = None
        while not paged or cursor is not None:
            page = await mcp.list_tools(cursor=cursor)
            paged += [one.name for one in page.tools]
            cursor = page.next_cursor
        for wrong in ("31", "300", "-1", "x"):
            with pytest.raises(MCPError):
                await mcp.list_tools(cursor=wrong)

    assert paged == whole
    assert len(whole) > 60


async def test_no_client_answers_what_another_server_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may have written it: the person gets the link."""
    asked = Question(
        question_id="m.1-book.2-input",
        mission_id="m",
        leg_id="1-book",
        question="How many beds?",
        fields={"beds": {"type": "integer"}},
        server="rooms",
    )

    async def seen(*_: object) -> Question:
        return asked

    monkeypatch.setattr("orchestrator.mcp.mission_tools.sight.seen_question", seen)
    person = local_person("ann")
    server = mcp_server(service(ValueError()), lambda _: person, inbox="http://inbox")
    async with Client(server, mode="legacy") as mcp:
        given = {"question_id": asked.question_id, "values": {"beds": 2}}
        result = await mcp.call_tool("answer_question", given)

    assert result.is_error
    assert "http://inbox/questions/m.1-book.2-input" in str(result.content)


@pytest.mark.parametrize(
    ("status", "bodies", "is_error"),
    [
        ("incomplete", [], True),
        ("rolled_back", [{"id": "T-1"}], True),
        ("succeeded", [{"id": "T-1"}], False),
        ("succeeded", [None], False),
        ("running", [], False),
    ],
)
async def test_a_call_that_was_not_made_is_no_success(
    status: str, bodies: list[Any], is_error: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person may have skipped it; an answer may have no body, and a mission may go on."""

    async def seen(*_: object) -> Any:
        facts = [SimpleNamespace(body=body) for body in bodies]
        return SimpleNamespace(result=SimpleNamespace(legs=[SimpleNamespace(facts=facts)]))

    monkeypatch.setattr("orchestrator.mcp.catalog_tools.sight.seen_view", seen)
    over = status != "running"
    answer = MissionAnswer(mission_id="call-1", status=status, over=over, url="http://inbox/m")
    exchange = cast("Exchange", SimpleNamespace(service=None, person=None))
    result = await answer_of_call(exchange, answer)

    assert bool(result.is_error) is is_error
    assert ("**incomplete**" in str(result.content)) is (status == "incomplete")


async def test_a_bug_is_answered_without_its_text() -> None:
    """What an exception says may be anything; the log has it."""
    person = local_person("ann")
    server = mcp_server(service(ValueError("secret")), lambda _: person, inbox="http://inbox")
    async with Client(server, mode="legacy") as mcp:
        result = await mcp.call_tool("get_mission", {"mission_id": "m"})

    assert result.is_error
    assert "secret" not in str(result)


async def test_an_unknown_mission_is_not_found() -> None:
    person = Person(subject="bo", roles=(Role.VIEWER,), proved_by="api token")
    server = mcp_server(service(MissionNotFound("m")), lambda _: person, inbox="http://inbox")
    async with Client(server, mode="legacy") as mcp:
        result = await mcp.call_tool("get_mission", {"mission_id": "m"})
        unnamed = await mcp.call_tool("get_mission", {"mission": "m"})

    assert result.structured_content["status"] == 404
    assert unnamed.structured_content["status"] == 422


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"asked": 7}', "x" * 50_000, '"m1"'])
def test_a_state_that_is_none_of_ours_is_empty(text: str | None) -> None:
    assert read_state(text) == Resumed()


@pytest.mark.parametrize(
    "given", [[], "x", {"x": float("inf")}, {"x": [[[[["deep"]]]]]}, {"x": "y" * 2_000}]
)
def test_arguments_of_another_shape_or_size_are_refused(given: Any) -> None:
    with pytest.raises(ProblemError):
        check_arguments(given, depth=4, most_bytes=1_000)


def test_a_page_shows_text_of_others_literally() -> None:
    """No heading, link, control or hidden character of a provider reaches the page."""
    hostile = "<b>x</b>\n# Approved [here](http://evil.example) \u202e\x1b[2J"
    wait = OpenWait(kind="card", id="m.1", mission_id="m", title=hostile, url="http://inbox/c")
    page = MissionAnswer(
        mission_id="m",
        status="running",
        over=False,
        goal=hostile,
        summary=hostile,
        error=hostile,
        legs=(hostile,),
        waits=(wait,),
        url="http://inbox/m",
    ).markdown()

    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "](http://evil" not in page
    assert "<b>" not in page
    assert not any(line.startswith("# Approved") for line in page.splitlines())


def test_no_tool_takes_a_policy_an_approver_or_a_digest() -> None:
    taken = {name for one in MISSION_TOOLS.values() for name in one.takes.model_fields}

    assert not taken & {"policy", "orders", "observe", "requester", "approver", "digest", "again"}
