"""Requests for several tools have all of them forwarded."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router
from tests.benchmarks.bench_several import JOINTS, joined, share_forwarded


@pytest.mark.parametrize("joint", JOINTS)
def test_both_tools_of_a_random_pair_are_forwarded(
    router: Router, shipped: Catalog, joint: str
) -> None:
    """Of 200 pairs of the documents' own examples, however they are joined."""
    pairs = joined(shipped, joint)

    assert share_forwarded(router, pairs) >= 0.95


def test_all_tools_of_a_random_triple_are_forwarded(router: Router, shipped: Catalog) -> None:
    """Three at once are harder."""
    triples = joined(shipped, " and ", size=3)

    assert share_forwarded(router, triples) >= 0.8
