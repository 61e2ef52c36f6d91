"""Used grants: each is given to one user, whoever else asks at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.adapters.storage.grant_book import FileGrantBook

DIGEST = "ab" * 32


def test_a_grant_belongs_to_who_claims_it_first(tmp_path: Path) -> None:
    """Later ones, and the first again, are told who it was; another process reads the same."""
    assert FileGrantBook(tmp_path).claim(DIGEST, "leg 1") is None
    assert FileGrantBook(tmp_path).claim(DIGEST, "leg 2") == "leg 1"
    assert FileGrantBook(tmp_path).claim(DIGEST, "leg 1") == "leg 1"
    assert FileGrantBook(tmp_path).claim("cd" * 32, "leg 2") is None


def test_of_many_that_claim_at_once_one_gets_it(tmp_path: Path) -> None:
    """And all the others learn its name."""
    users = [f"leg {n}" for n in range(16)]
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda user: FileGrantBook(tmp_path).claim(DIGEST, user), users))

    winner = users[told.index(None)]

    assert [t for t in told if t is not None] == [winner] * 15


def test_a_call_that_is_taken_back_stays_so_for_every_process(tmp_path: Path) -> None:
    """Noted once or twice; no other call is meant."""
    for _ in range(2):
        FileGrantBook(tmp_path).take_back("m.1-hotels.2")

    assert FileGrantBook(tmp_path).is_taken_back("m.1-hotels.2")
    assert not FileGrantBook(tmp_path).is_taken_back("m.1-hotels.20")
