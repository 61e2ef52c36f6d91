"""Shares of a worker's slots, for providers and missions."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.activities.fair_slots import FairSlots, provider_of, provider_of_model
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import SlotsTaken
from tests.unit.activities.environments import of_mission

HANGING, OTHER = "https://hanging.example/v1", "https://other.example/v1"


class Calls:
    """Calls that hold a place until the test ends, of a worker with eight slots."""

    def __init__(self, stack: ExitStack) -> None:
        self.now = 0.0
        self.slots = FairSlots(8, clock=lambda: self.now)
        self._stack = stack
        self._made = 0

    def begin(self, server: str, mission: str, *, attempt: int = 1, queue: str = "q") -> None:
        """Take a place for another call, which hangs."""
        self._made += 1
        of = of_mission(activity_id=str(self._made), attempt=attempt, task_queue=queue)
        taken = self.slots.taken(provider_of(_tool(server)), mission)
        of.run(lambda: self._stack.enter_context(taken))

    def fail(self, activity: str, *, attempt: int, final: bool = False) -> None:
        """Make an attempt of a call of the hanging provider that fails."""

        def attempted() -> None:
            with self.slots.taken(provider_of(_tool(HANGING)), "m"):
                raise ApplicationError("late", non_retryable=final)

        with pytest.raises(ApplicationError):
            of_mission(activity_id=activity, attempt=attempt, task_queue="q").run(attempted)


def _tool(server: str) -> Tool:
    return Tool(name="ask", document="shop", domain="shop", server=server, input_schema={})


@pytest.fixture
def calls() -> Iterator[Calls]:
    """Of one worker."""
    with ExitStack() as stack:
        yield Calls(stack)


def test_a_provider_has_half_of_the_slots(calls: Calls) -> None:
    """Further calls give their slot back; another provider and another task queue have theirs.

    A later attempt is let in by any worker: it may have taken its place elsewhere.
    """
    for number in range(4):
        calls.begin(HANGING, f"m{number}")

    with pytest.raises(SlotsTaken, match=r"hanging\.example"):
        calls.begin(HANGING, "m9")
    calls.begin(OTHER, "m9")
    calls.begin(HANGING, "m9", queue="another")
    calls.begin(HANGING, "m9", attempt=2)


def test_each_further_provider_has_half_of_what_the_others_leave(calls: Calls) -> None:
    """Three that hang hold seven of eight slots, and a fourth one still gets one."""
    for server, most in ((HANGING, 4), (OTHER, 2), ("https://third.example", 1)):
        for mission in range(most):
            calls.begin(server, f"{server}-{mission}")
        with pytest.raises(SlotsTaken):
            calls.begin(server, "another")

    calls.begin("https://fourth.example", "another")


def test_models_of_one_provider_share_its_slots() -> None:
    """Whatever comes after the colon; a worker's default model has a share of its own."""
    assert (
        provider_of_model("acme:big") == provider_of_model("acme:small") != provider_of_model("b:c")
    )
    assert provider_of_model(None) not in (provider_of_model("acme:big"), provider_of_model("b:c"))


def test_a_mission_has_a_quarter_of_the_slots(calls: Calls) -> None:
    """However many providers it calls."""
    calls.begin(HANGING, "m")
    calls.begin(OTHER, "m")

    with pytest.raises(SlotsTaken):
        calls.begin("https://third.example", "m")
    calls.begin(OTHER, "another")


def test_a_call_that_was_let_in_keeps_its_place_over_its_attempts(calls: Calls) -> None:
    """In the pause before its next attempt nobody else is let in, and soon after it somebody is."""
    for number in range(3):
        calls.begin(HANGING, f"m{number}")
    calls.fail("a", attempt=1)
    calls.now = 4
    with pytest.raises(SlotsTaken):
        calls.begin(HANGING, "m9")
    calls.fail("a", attempt=2)
    calls.now = 10

    calls.begin(HANGING, "m9")


def test_a_call_that_failed_for_good_gives_its_place_back(calls: Calls) -> None:
    """At once, to one other call."""
    for number in range(3):
        calls.begin(HANGING, f"m{number}")
    calls.fail("a", attempt=1, final=True)

    calls.begin(HANGING, "m9")
    with pytest.raises(SlotsTaken):
        calls.begin(HANGING, "m10")
