"""Tools that only fill a width are never what a plan by rules calls."""

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.rules.target import find_target
from orchestrator.routing.router import Router
from tests.unit.routing.function_catalogs import ASSISTANT


def test_what_no_word_speaks_for_is_no_target() -> None:
    """Three tools are forwarded, and none of them is meant."""
    catalog = Catalog.from_functions(ASSISTANT)
    selection = Router(catalog).route("asdf")

    assert selection.tools
    assert find_target(selection, catalog) is None


def test_an_inferred_effect_is_what_a_plan_goes_by() -> None:
    """To send is no read, so it is found by those who order it and by nobody else."""
    catalog = Catalog.from_functions(ASSISTANT)
    found = find_target(Router(catalog).route("send an email to bob"), catalog)

    assert found is not None
    assert found.name == "send_email"
    assert found.needs_confirmation
