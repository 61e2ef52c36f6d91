"""Plain function tools, as a proxy is given them: every example and row of the adaptive-K table."""

from collections.abc import Callable

import pytest

from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import EmbeddedCards
from orchestrator.routing.selection import RouteContext
from tests.unit.routing.function_catalogs import ASSISTANT, FARM


@pytest.fixture(scope="module", params=["words", "vectors"])
def make_router(request: pytest.FixtureRequest) -> Callable[[Catalog], Router]:
    """Routers without vectors, and with those that are built in."""

    def make(catalog: Catalog) -> Router:
        if request.param == "words":
            return Router(catalog)
        return Router(catalog, similarity=EmbeddedCards(catalog, BuiltInEmbedder()))

    return make


@pytest.fixture(scope="module")
def assistant(make_router: Callable[[Catalog], Router]) -> Router:
    """Of 51 functions."""
    assert len(ASSISTANT) == 51
    return make_router(Catalog.from_functions(ASSISTANT))


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("list files", "list_files"),
        ("weather in London", "open_meteo_weather"),
        ("forecast for Sittingbourne Kent", "open_meteo_weather"),
        ("list channels", "mcp__slack__list_channels"),
        ("list my reminders", "reminders.list"),
        ("who is free on Friday", "findFreeSlots"),
        ("what is the status of the billing service", "service_status"),
    ],
)
def test_a_crisp_single_intent_gets_one_tool(text: str, tool: str, assistant: Router) -> None:
    """Of 51: the right one."""
    selection = assistant.route(text)

    assert (selection.tools, selection.band) == ((tool,), "crisp")
    assert selection.frame.confidence > 0.5
    assert not selection.frame.side_effect_allowed
    assert selection.headers["x-orqen-prune-ratio"] == "1/51"


@pytest.mark.parametrize(
    "text", ["what time is it in Tokyo", "read /etc/hosts", "search the web for cheap laptops"]
)
def test_moderate_confidence_gets_two_or_three(text: str, assistant: Router) -> None:
    """Enough room for close alternatives."""
    selection = assistant.route(text)

    assert selection.band == "moderate"
    assert selection.frame.confidence > 0
    assert 2 <= len(selection.tools) == selection.k <= 3


def test_several_requests_and_a_failed_call_get_up_to_four(assistant: Router) -> None:
    """Recall is protected while the agent recovers."""
    both = assistant.route("list files in /tmp, then send an email to bob")
    again = RouteContext(last_error="timeout")
    failed = assistant.route("list files", again)

    assert both.band == failed.band == "multi_step"
    assert {"list_files", "send_email"} <= {*both.tools}
    assert 2 <= len(both.tools) <= 4
    assert 2 <= len(failed.tools) <= 4
    assert len(assistant.route("what time is it in Tokyo", again).tools) >= 3


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("email bob", "send_email"),
        ("send an email to bob", "send_email"),
        ("execute ls -la", "run_shell_command"),
        ("run ls", "run_shell_command"),
        ("deploy the api to staging", "deploy_service"),
        ("trigger the pipeline of the main branch for me", "trigger_pipeline"),
        ("restart nginx", "restart_service"),
        ("delete report.txt", "delete_file"),
        ("write the minutes to notes.txt", "write_file"),
        ("merge PR 17 in acme/shop", "github__merge_pull_request"),
    ],
)
def test_a_side_effect_gets_three_at_least(text: str, tool: str, assistant: Router) -> None:
    """Write, send and execute operations are widened, and the right one is among them."""
    selection = assistant.route(text)

    assert tool in selection.tools
    very_sure = selection.frame.confidence >= 0.9
    assert very_sure or (selection.band == "side_effect" and len(selection.tools) >= 3)
    assert selection.frame.side_effect_allowed


@pytest.mark.parametrize("text", ["start the irrigation", "call the vet", "sell cow 12"])
def test_a_small_catalog_gives_as_many_as_it_has(text: str) -> None:
    """Three where there are three, two where there are two."""
    for count in (1, 2, 3):
        functions = FARM[:count]
        selection = Router(Catalog.from_functions(functions)).route(text)
        is_sure = selection.frame.confidence >= 0.9
        assert is_sure or len(selection.tools) == count


@pytest.mark.parametrize("text", ["asdf", "", "wire 200 euros to DE893", "prod is slow"])
def test_a_width_is_filled_though_no_word_speaks_for_a_tool(text: str, assistant: Router) -> None:
    """What fills it is told apart; every tool has a rank."""
    selection = assistant.route(text)

    assert selection.frame.confidence == 0
    assert len(selection.tools) >= 2
    assert {*selection.padding} <= {*selection.tools}
    assert len({*assistant.rank(text)}) == 51
