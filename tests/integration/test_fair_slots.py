"""A provider that hangs, and the missions of another one."""

from tests.benchmarks.bench_hostile import bystanders


async def test_hanging_calls_of_one_provider_do_not_delay_another() -> None:
    """Twenty of them, with ten slots: each would hold its slot for twenty seconds."""
    _, beside = await bystanders(hanging=20, slots=10)

    assert beside < 10
