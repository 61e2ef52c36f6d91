"""Used grants: each is given to one user, whoever else asks at the same time."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.adapters.storage import sql_grants
from orchestrator.adapters.storage.protocols import GrantBook, SentCall, StandingSpend
from orchestrator.confirmation.policy import StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.errors import GrantRefused
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from tests.fakes import fake_obligation
from tests.unit.adapters.storage.used_grants import OpenStore, leaving

DIGEST = "ab" * 32


def sent(user: str, *digests: str, leaves: Obligation | None = None) -> SentCall:
    """A call of mission m that is about to be sent."""
    ledger = Ledger() if leaves is None else Ledger(obligations=(leaves,))
    return SentCall("m.1-shop.2", "m", user, digests, ledger)


def test_a_grant_belongs_to_who_claims_it_first(open_store: OpenStore) -> None:
    """Later ones, and the first again, are told who it was; another machine reads the same."""
    assert open_store().grants.send(sent("leg 1", DIGEST)).used_by == (None,)
    assert open_store().grants.send(sent("leg 2", DIGEST)).used_by == ("leg 1",)
    assert open_store().grants.send(sent("leg 1", DIGEST)).used_by == ("leg 1",)
    assert open_store().grants.send(sent("leg 2", "cd" * 32)).used_by == (None,)


def test_of_many_that_claim_at_once_one_gets_it(open_store: OpenStore) -> None:
    """And all the others learn its name."""
    users = [f"leg {n}" for n in range(16)]
    books = [open_store().grants for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        claims = pool.map(lambda n: books[n % 4].send(sent(users[n], DIGEST)), range(16))
        told = [claim.used_by[0] for claim in claims]

    winner = users[told.index(None)]

    assert [t for t in told if t is not None] == [winner] * 15


_CLAIM = """
import sys
from pathlib import Path

from orchestrator.adapters.storage.protocols import SentCall
from orchestrator.adapters.storage.store import Store
from orchestrator.saga.ledger import Ledger
grants = Store(Path(sys.argv[1]), url=sys.argv[2] or None).grants
claims = [SentCall("c", "m", sys.argv[3], (f"{n:064d}",), Ledger()) for n in range(40)]
print(sum(grants.send(claim).used_by == (None,) for claim in claims))
"""


@pytest.mark.parametrize("place", ["server", pytest.param("file", marks=pytest.mark.long)])
def test_processes_share_grants_out_among_them(
    request: pytest.FixtureRequest, tmp_path: Path, place: str
) -> None:
    """Two begin on an empty store at once, and claim the same: each grant is one's alone."""
    url = request.getfixturevalue("postgres_url") if place == "server" else ""
    claims = [[sys.executable, "-c", _CLAIM, str(tmp_path / "state"), url, user] for user in "ab"]
    running = [subprocess.Popen(claim, stdout=subprocess.PIPE, text=True) for claim in claims]
    counts = [int(process.communicate()[0]) for process in running]

    assert sum(counts) == 40


def test_a_call_is_noted_with_what_it_may_leave_as_its_grant_is_used(open_store: OpenStore) -> None:
    """Whoever sends it later is told of it; the first note stays."""
    obligation = fake_obligation("m.1-shop.2")
    other = fake_obligation("m.1-shop.2", tool="other")
    first = open_store().grants.send(sent("a", DIGEST, leaves=obligation))
    second = open_store().grants.send(sent("b", leaves=other))

    assert (first.used_by, first.sent_by, first.ledger) == ((None,), None, Ledger())
    assert (second.used_by, second.sent_by) == ((), "a")
    assert second.ledger.obligations == (obligation,)
    assert open_store().grants.ledger("m").obligations == (obligation,)
    assert open_store().grants.ledger("n") == Ledger()


def test_a_mission_is_unfinished_until_it_is_concluded(open_store: OpenStore) -> None:
    """Whatever came of its calls; by pages, in the order of ids. What was sent stays sent."""
    grants = open_store().grants
    made = {mission: fake_obligation(f"{mission}.1-shop.2") for mission in ("a", "b", "c")}
    for one in made.values():
        grants.send(leaving(one))
    void = made["b"].moved(ObligationState.VOID, at=made["b"].written_at)
    grants.settle(void.obligation_id, Ledger(obligations=(void,)))

    assert grants.ledger("b").obligations == (void,)
    assert grants.unfinished(after="", most=1) == ("a",)
    assert grants.unfinished(after="a", most=9) == ("b", "c")
    grants.conclude("c")
    assert grants.unfinished(after="", most=9) == ("a", "b")
    assert grants.ledger("c") == Ledger()
    assert grants.ledger("c", concluded=True).obligations == (made["c"],)
    assert grants.send(leaving(made["c"], "v")).sent_by == "u"
    assert grants.last_noted("a") is not None
    assert grants.last_noted("d") is None


def test_the_obligations_of_concluded_missions_can_be_removed(open_store: OpenStore) -> None:
    """Of those alone; the call stays sent."""
    grants = open_store().grants
    made = [fake_obligation(f"{mission}.1-shop.2") for mission in ("a", "b")]
    for one in made:
        grants.send(leaving(one))
    grants.conclude("a")
    kept = grants.missions()
    grants.purge("a", "b")

    assert set(kept) == {"a"}
    assert grants.missions() == {}
    assert grants.ledger("a", concluded=True) == Ledger()
    assert grants.ledger("b").obligations
    assert grants.send(leaving(made[0], "v")).sent_by == "u"


def test_an_id_belongs_to_the_first_mission_that_was_answered_with_it(
    open_store: OpenStore,
) -> None:
    """Also once that is concluded, until it is cancelled: no other may cancel by it."""
    named = {"state": ObligationState.COMMITTED, "answered_ids": {"id": "b1"}}
    made = {name: fake_obligation(f"{name}.1-shop.2", mission_id=name, **named) for name in "mn"}
    for one in made.values():
        open_store().grants.settle(one.obligation_id, Ledger(obligations=(one,)))
    open_store().grants.conclude("m")

    assert [open_store().grants.owner_of(one) for one in made.values()] == ["", "m"]
    other = made["n"].model_copy(update={"answered_ids": {"id": "b2"}})
    assert open_store().grants.owner_of(other) == ""
    over = made["m"].moved(ObligationState.CANCELLED, at=made["m"].written_at)
    open_store().grants.settle(over.obligation_id, Ledger(obligations=(over,)))
    assert open_store().grants.owner_of(made["n"]) == ""


def test_a_call_that_is_taken_back_stays_so_for_every_process(open_store: OpenStore) -> None:
    """Noted once or twice; no other call is meant."""
    for _ in range(2):
        open_store().grants.note_cancel("m.1-hotels.2")

    assert open_store().grants.is_cancelled("m.1-hotels.2")
    assert not open_store().grants.is_cancelled("m.1-hotels.20")


def eur(amount: int) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


MEALS = StandingApproval(name="meals", tools=("*",), total=eur(50))
DAILY = StandingApproval(name="meals", tools=("*",), per_day=eur(50))


def meal(number: int, price: int, *rules: StandingApproval, state: str = "intended") -> SentCall:
    """One of many calls of several missions under standing approvals."""
    made = fake_obligation(f"m{number}.1-food.1")
    call = leaving(made.model_copy(update={"state": ObligationState(state)}))
    spend = StandingSpend(rules or (MEALS,), eur(price))
    return call._replace(grants=(f"{number:064d}",), spend=spend)


def charged(number: int, price: int) -> tuple[str, Ledger]:
    """What the meal cost."""
    (made,) = meal(number, 0).ledger.obligations
    return made.obligation_id, Ledger(obligations=(made.model_copy(update={"price": eur(price)}),))


OpenBook = Callable[[], GrantBook]


@pytest.fixture
def book(open_store: OpenStore) -> OpenBook:
    """The book of grants, as several workers open it."""
    return lambda: open_store().grants


def test_a_standing_approval_ends_at_its_total(book: OpenBook) -> None:
    """Over missions and workers; a refused call keeps its grant and is counted nowhere.

    A later attempt of a call is no further one.
    """
    book().send(meal(1, 25))
    book().send(meal(2, 20))
    dear = meal(3, 6)

    assert dear.spend is not None
    assert "50.00 EUR in total, and calls for 45.00 EUR" in str(book().refusal(dear.spend))
    with pytest.raises(GrantRefused):
        book().send(dear)
    assert book().ledger("m3") == Ledger()
    assert book().send(meal(3, 5)).used_by == (None,)
    for number, price in ((1, 25), (2, 20), (3, 5)):
        book().send(meal(number, price))
    assert book().refusal(StandingSpend((MEALS,), eur(0))) is None


def test_the_charge_counts_once_it_is_known_and_a_void_call_no_more(book: OpenBook) -> None:
    """10 EUR were approved and 40 charged; a provider refused the other call."""
    book().send(meal(1, 10))
    book().settle(*charged(1, 40))
    book().send(meal(2, 10))
    book().settle("m2.1-food.1", meal(2, 10, state="void").ledger)

    assert book().refusal(StandingSpend((MEALS,), eur(10))) is None
    assert book().refusal(StandingSpend((MEALS,), eur(11))) is not None


def test_a_charge_that_no_database_could_count_is_noted(book: OpenBook) -> None:
    """However much providers charge: the outcomes are kept, and the approval has no room left."""
    for number in range(3):
        book().send(meal(number, 0))
    for number in range(3):
        call_id, ledger = charged(number, 10**17)
        book().settle(call_id, ledger)

        assert book().ledger(f"m{number}") == ledger
    assert book().refusal(StandingSpend((MEALS,), eur(1))) is not None


def test_each_approval_counts_for_itself_and_all_have_to_have_room(book: OpenBook) -> None:
    """That of a mission and that of its worker; what other names let out is not theirs."""
    own = StandingApproval(name="own", tools=("*",), total=eur(20))
    book().send(meal(1, 15, own, MEALS))

    with pytest.raises(GrantRefused, match="approval own covers"):
        book().send(meal(2, 10, own, MEALS))
    book().send(meal(3, 35))
    with pytest.raises(GrantRefused, match="approval meals covers"):
        book().send(meal(4, 5, own, MEALS))


def test_a_day_that_is_over_counts_no_more(book: OpenBook, monkeypatch: pytest.MonkeyPatch) -> None:
    """`per_day` looks back over 24 hours, and `total` over all of them."""
    book().send(meal(1, 50, DAILY))
    assert "in 24 hours" in str(book().refusal(StandingSpend((DAILY,), eur(1))))

    monkeypatch.setattr(sql_grants, "A_DAY", timedelta(0))

    assert book().refusal(StandingSpend((DAILY,), eur(50))) is None
    assert book().refusal(StandingSpend((MEALS,), eur(1))) is not None


def test_a_day_begins_by_the_time_that_the_call_states(book: OpenBook) -> None:
    """The server's, since the clock of a worker may be hours behind."""
    yesterday = datetime.now(UTC) - timedelta(hours=25)
    book().send(meal(1, 50, DAILY)._replace(at=yesterday))

    assert book().refusal(StandingSpend((DAILY,), eur(50))) is None


def test_of_many_workers_at_once_as_many_spend_as_there_is_money_for(open_store: OpenStore) -> None:
    """Sixteen calls of 10 EUR, and 50 EUR in total: five are sent."""
    books = [open_store().grants for _ in range(4)]

    def is_sent(number: int) -> bool:
        try:
            books[number % 4].send(meal(number, 10))
        except GrantRefused:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(is_sent, range(16))) == 5
