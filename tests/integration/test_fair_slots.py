"""Providers that hang, and the missions of another one."""

import pytest

from tests.benchmarks.bench_hostile import bystanders


@pytest.mark.parametrize("providers", [pytest.param(1, marks=pytest.mark.long), 2])
async def test_hanging_calls_of_some_providers_do_not_delay_another(providers: int) -> None:
    """Twenty of each, with ten slots: each would hold its slot for twenty seconds."""
    _, beside = await bystanders(hanging=20, slots=10, providers=providers)

    assert beside < 18
