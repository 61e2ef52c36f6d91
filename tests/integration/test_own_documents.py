"""Documents of users: their pairs are tried, and the test in docs/testing.md passes as it is."""

import asyncio
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import load_documents
from orchestrator.chaos.pairs import check_pairs
from orchestrator.chaos.verdicts.pair_verdict import PairCase
from orchestrator.chaos.verdicts.report import PairsReport

ROOT = Path(__file__).parents[2]
FOREIGN = ROOT / "tests" / "documents" / "foreign"
CASES = (PairCase.CLEAN, PairCase.ANSWER_LOST)
Found = tuple[PairsReport, str, set[str]]

# The first test waits for all that the fixture runs, twenty seconds on a quiet machine.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
async def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The pairs of all foreign documents, the run of the documented test, and the hosts looked up.

    Side by side: both mostly wait until a lost call can no longer arrive.
    """
    looked_up: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", _noted(looked_up, socket.getaddrinfo))
        report, printed = await asyncio.gather(
            check_pairs(
                load_documents(FOREIGN), tmp_path_factory.mktemp("pairs"), seed=1, cases=CASES
            ),
            _run_documented_test(tmp_path_factory.mktemp("documented")),
        )
    return report, printed, looked_up


def _noted(names: set[str], resolve: Callable[..., Any]) -> Callable[..., Any]:
    def looking_up(host: Any, *rest: Any, **more: Any) -> Any:
        names.add(str(host))
        return resolve(host, *rest, **more)

    return looking_up


async def _run_documented_test(folder: Path) -> str:
    text = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    for name, kind in (("pytest.ini", "ini"), ("test_visit.py", "python")):
        block = re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)[0]
        (folder / name).write_text(block)
    shutil.copy(ROOT / "tests" / "documents" / "user_rollback.py", folder / "test_more.py")
    for name in ("crm.yaml", "crm-overlay.yaml"):
        shutil.copy(ROOT / "docs" / "examples" / name, folder)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error"),
        *("-p", "orchestrator.testing.plugin", "--chaos-seed", "3"),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return printed.decode()


def _flaws(report: PairsReport, tool: str) -> dict[str, list[str]]:
    checks = [check for check in report.checks if check.tool == tool]
    return {check.case: [flaw.why for flaw in check.flaws] for check in checks}


@pytest.mark.parametrize("tool", ["lendBook", "gym-join", "send_parcel"])
def test_pairs_of_other_shapes_hold(found: Found, tool: str) -> None:
    """DELETE by an id inside of an answer, PUT and PATCH by the caller's id, a key alone."""
    report, _, _ = found

    assert _flaws(report, tool) == {case.value: [] for case in CASES}
    for check in (check for check in report.checks if check.tool == tool):
        assert (check.made, check.cancelled, check.prompts) == (1, 1, 0)


def test_what_only_its_answer_names_is_reported(found: Found) -> None:
    """It is taken back when the answer comes, and cannot be when it does not."""
    flaws = _flaws(found[0], "blind_book")

    assert flaws["clean"] == []
    assert "no probe finds" in flaws["answer lost"][0]


def test_what_nothing_takes_back_is_reported(found: Found) -> None:
    """Without a call: the contract names no cancel."""
    assert list(_flaws(found[0], "loose_book")) == ["contract"]


def test_a_cancel_that_cannot_be_filled_is_reported(found: Found) -> None:
    """With the input that nothing fills."""
    flaws = _flaws(found[0], "unfilled_book")

    assert all("reason is missing" in why for (why,) in flaws.values())


def test_a_cancel_that_is_refused_is_reported(found: Found) -> None:
    """With the words of the provider."""
    assert "mistaken_cancel was refused: HTTP 404" in _flaws(found[0], "mistaken_book")["clean"][0]


def test_one_broken_pair_breaks_the_verdict(found: Found) -> None:
    """The report as a whole is not ok, and counts every tool once."""
    report, _, _ = found

    assert not report.ok
    assert report.pairs == 7


def test_no_host_of_a_document_is_ever_looked_up(found: Found) -> None:
    """The documents name real-looking hosts; only this machine was spoken to."""
    _, _, looked_up = found

    assert "127.0.0.1" in looked_up
    assert not {name for name in looked_up if "example" in name}


def test_the_documented_test_passes(found: Found) -> None:
    """As it stands in docs/testing.md, with others of a user, and every warning an error."""
    _, printed, _ = found

    assert "4 passed" in printed, printed
    assert "chaos seed: 3" in printed
