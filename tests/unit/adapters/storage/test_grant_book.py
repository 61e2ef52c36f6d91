"""Used grants: each is given to one user, whoever else asks at the same time."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.adapters.storage.store import Store

DIGEST = "ab" * 32


def test_a_grant_belongs_to_who_claims_it_first(open_store: Callable[[], Store]) -> None:
    """Later ones, and the first again, are told who it was; another machine reads the same."""
    assert open_store().grants.claim(DIGEST, "leg 1") is None
    assert open_store().grants.claim(DIGEST, "leg 2") == "leg 1"
    assert open_store().grants.claim(DIGEST, "leg 1") == "leg 1"
    assert open_store().grants.claim("cd" * 32, "leg 2") is None


def test_of_many_that_claim_at_once_one_gets_it(open_store: Callable[[], Store]) -> None:
    """And all the others learn its name."""
    users = [f"leg {n}" for n in range(16)]
    books = [open_store().grants for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda n: books[n % 4].claim(DIGEST, users[n]), range(16)))

    winner = users[told.index(None)]

    assert [t for t in told if t is not None] == [winner] * 15


_CLAIM = """
import sys
from pathlib import Path
import pytest

from orchestrator.adapters.storage.store import Store
grants = Store(Path(sys.argv[1]), url=sys.argv[2] or None).grants
print(sum(grants.claim(f"{n:064d}", sys.argv[3]) is None for n in range(40)))
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


def test_a_call_that_is_taken_back_stays_so_for_every_process(
    open_store: Callable[[], Store],
) -> None:
    """Noted once or twice; no other call is meant."""
    for _ in range(2):
        open_store().grants.take_back("m.1-hotels.2")

    assert open_store().grants.is_taken_back("m.1-hotels.2")
    assert not open_store().grants.is_taken_back("m.1-hotels.20")
