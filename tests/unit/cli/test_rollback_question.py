"""What `orchestrator mission rollback` asks, and what it starts."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from orchestrator.cli import output
from orchestrator.client.mission_rollback import RollbackPreview
from orchestrator.core.budget import Money
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackReport
from tests.fakes import fake_obligation

S = MissionStatus
HOTEL = fake_obligation(
    "m.1-hotels.2",
    title="Book a hotel room",
    cancel_tool="hotel_cancel",
    price=Money(amount=Decimal("292.32"), currency="EUR"),
)
NOTE = fake_obligation("m.2-note.1", title="Post a note", cancel_tool=None)


class Client:
    """Has one mission to roll back, and keeps by whose decision it was."""

    def __init__(self) -> None:
        self.status = S.SUCCEEDED
        self.is_begun = False
        self.obligations = (HOTEL, NOTE)
        self.started: list[dict[str, str]] = []

    async def rollback_preview(self, mission_id: str) -> RollbackPreview:
        return RollbackPreview(
            mission_id=mission_id,
            status=self.status,
            obligations=self.obligations,
            references={"m.1-hotels.2": {"booking_id": "hbk_1"}},
            is_begun=self.is_begun,
        )

    async def rollback(self, mission_id: str, **order: str) -> RollbackReport:
        self.started.append(order)
        return RollbackReport(mission_id=mission_id, settled=True)


@pytest.fixture
def client(connect_to: Callable[[Any], Any]) -> Any:
    return connect_to(Client())


@pytest.fixture
def roll_back(run_typed: Callable[..., tuple[int, str]]) -> Callable[..., tuple[int, str]]:
    """Runs the command as a person does who types this, or in a script."""
    return partial(run_typed, "mission", "rollback", "m")


RollBack = Callable[..., Any]


def test_a_person_sees_what_will_be_cancelled(client: Client, roll_back: RollBack) -> None:
    """What it is, its reference, its price, what cancels it, and what nothing does."""
    code, shown = roll_back("--reason", "wrong week", "--approver", "ann", typed="y\n")
    before, _, _ = shown.partition("Roll it back? [y/N]")

    assert code == 0
    for word in ("Book a hotel room", "hbk_1", "292.32 EUR", "hotel_cancel", "Post a note"):
        assert word in before
    assert "nothing cancels it" in before
    assert client.started == [{"reason": "wrong week", "approver": "ann"}]


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_started(typed: str, client: Client, roll_back: RollBack) -> None:
    code, _ = roll_back(typed=typed)

    assert (code, client.started) == (1, [])


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_script_has_to_say_that_it_is_meant(
    arguments: tuple[str, ...], client: Client, roll_back: RollBack
) -> None:
    """Without a terminal and without --yes it is wrong usage, and --json asks at no terminal."""
    typed = "y\n" if arguments else None
    code, shown = roll_back(*arguments, typed=typed)

    assert (code, client.started) == (2, [])
    assert "--yes" in shown


@pytest.mark.parametrize("arguments", [("--yes",), ("--yes", "--json")])
def test_yes_asks_nothing(arguments: tuple[str, ...], client: Client, roll_back: RollBack) -> None:
    """Who calls is on record all the same."""
    code, shown = roll_back(*arguments)

    assert code == 0
    assert "[y/N]" not in shown
    assert client.started[0]["approver"]


@pytest.mark.parametrize(
    "changed",
    [{"status": S.FAILED}, {"status": S.TERMINATED}, {"is_begun": True}, {"obligations": ()}],
    ids=["failed", "terminated", "begun before", "nothing stands"],
)
def test_what_is_no_decision_is_listed_and_not_asked(
    changed: dict[str, Any], client: Client, roll_back: RollBack
) -> None:
    """It would be rolled back anyway, or was decided on before."""
    for name, value in changed.items():
        setattr(client, name, value)
    code, shown = roll_back()

    assert (code, len(client.started)) == (0, 1)
    assert ("Book a hotel room" in shown) is bool(client.obligations)


def test_an_account_without_a_name_is_nobody(
    client: Client, roll_back: RollBack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container: the client says whether somebody has to be named."""

    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(output, "getuser", unknown)

    assert roll_back("--yes", "--reason", "wrong week")[0] == 0
    assert client.started == [{"reason": "wrong week", "approver": None}]
