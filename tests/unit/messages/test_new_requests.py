"""What no new mission may ask for, and what recorded ones may hold."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.core.errors import DocumentUnreadable, UsageError
from orchestrator.messages.mission import MissionInput
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.new_requests import check_new
from orchestrator.settings import load_policy

NOTHING = timedelta(0)


@pytest.mark.parametrize("goal", [" ", "\t\n ", "\u00a0", "\u200b", "\u2063 \ufeff"])
def test_a_goal_that_says_nothing_is_refused(goal: str) -> None:
    """Also one of characters that nobody sees."""
    with pytest.raises(UsageError, match="goal: it says nothing"):
        check_new(goal, MissionPolicy())


@pytest.mark.parametrize("goal", ["?", "飛行機", " go "])
def test_a_goal_that_says_something_is_not_judged_here(
    goal: str, refusal: Callable[[Callable[[], object]], Exception | None]
) -> None:
    """Whether anybody can do it is another question."""
    assert refusal(lambda: check_new(goal, MissionPolicy())) is None


@pytest.mark.parametrize(
    "name", [n for n, f in MissionPolicy.model_fields.items() if f.annotation is timedelta]
)
@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (NOTHING, "is 0 s, and must be longer"),
        (timedelta(days=-1), "is -1 days, and must be longer"),
        (timedelta(days=4_000_000), "is 4,000,000 days, and may be at most 3650 days"),
    ],
)
def test_no_wait_of_a_policy_is_over_before_it_begins(
    name: str, wait: timedelta, said: str
) -> None:
    """Whichever it is: those that a policy is given later, too. The sentence names it."""
    policy = MissionPolicy(**{name: wait})  # type: ignore[arg-type]

    with pytest.raises(UsageError, match=f"{name} {said}"):
        check_new("go", policy)


def test_so_for_waits_further_inside() -> None:
    """A reminder before the card is opened would never come."""
    rules = ConfirmationPolicy(reminders=(timedelta(hours=1), timedelta(seconds=-5)))

    with pytest.raises(UsageError, match=r"confirmation\.reminders\.1 is -5 s"):
        check_new("go", MissionPolicy(confirmation=rules))


def test_a_recorded_mission_loads_whatever_it_holds() -> None:
    """It was taken on when nobody looked; a worker must be able to read it."""
    old = {"goal": " ", "policy": {"confirmation_expiry": -5, "deadline": 0}}

    read = MissionInput.model_validate({"request": old})

    assert read.request.policy.confirmation_expiry == timedelta(seconds=-5)


def test_a_file_of_such_a_policy_is_refused_by_name(tmp_path: Path) -> None:
    """By `--policy`, and by a worker that has it from its settings."""
    path = tmp_path / "policy.yaml"
    path.write_text("confirmation_expiry: -PT1H")

    with pytest.raises(DocumentUnreadable, match=r"policy\.yaml.*confirmation_expiry is -3600 s"):
        load_policy(path)
