"""Owns which process of a test run takes which file, and when."""

from typing import Final

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_WAITING: Final = ("tests/integration/", "tests/chaos/")
_LONG: Final = (
    "tests/chaos/test_chaos_run.py",
    "tests/integration/test_guarded_agents.py",
    "tests/integration/test_sessions.py",
    "tests/integration/test_own_documents.py",
    "tests/integration/test_without_a_worker.py",
    "tests/chaos/test_worker_death.py",
    "tests/integration/test_mcp_missions.py",
    "tests/integration/test_guarded_worker.py",
    "tests/integration/test_catalog_change.py",
    "tests/integration/test_cli_mission.py",
    "tests/integration/test_rollback.py",
    "tests/integration/test_personal_values.py",
    "tests/integration/test_injection.py",
    "tests/integration/test_goals_by_witness.py",
    "tests/integration/test_quickstart.py",
    "tests/workflow/test_events.py",
    "tests/workflow/test_limits.py",
    "tests/workflow/test_stored_state.py",
    "tests/test_architecture.py",
)
"""Files of a minute, on a machine of two cores: they begin first, so that none ends alone."""


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _waits(file: str) -> bool:
    return file.startswith(_WAITING)


def _stands_alone(file: str) -> bool:
    """Whether a file of those that wait needs no installation of a whole session."""
    return file.count("/") > 2


def in_order(items: list[pytest.Item]) -> None:
    """Put the files that take long first, and last those that any process runs as cheaply."""
    place = {file: n for n, file in enumerate(_LONG)}
    items.sort(
        key=lambda item: (
            place.get(file := _file(item.nodeid), len(_LONG)),
            _waits(file) and _stands_alone(file),
        )
    )


class FilesByKind(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Every second process takes files that mostly wait, the others those that compute.

    So no core idles, and the servers and catalogs that a process keeps for a whole session are kept
    by some of them. When there is no more of its kind, a process helps the others, from their end.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        kind = self._takes_waiting(node)
        mine = next((file for file in self.workqueue if _waits(file) == kind), None)
        self.workqueue.move_to_end(mine or next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    @staticmethod
    def _takes_waiting(node: WorkerController) -> bool:
        """By its number, which a process that takes another's place does not share."""
        return int(node.gateway.id.removeprefix("gw")) % 2 == 0
