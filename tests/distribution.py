"""Owns which files of a test run are slow, which process takes a file, and when."""

from typing import Final

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_WAITING: Final = ("tests/integration/", "tests/chaos/")
SLOW: Final = (
    "tests/chaos/test_chaos_run.py",
    "tests/integration/test_mcp_missions.py",
    "tests/chaos/test_user_workflows.py",
    "tests/chaos/test_worker_death.py",
    "tests/integration/test_sessions.py",
    "tests/integration/test_unproved_answers.py",
    "tests/workflow/test_stored_state.py",
    "tests/integration/test_guarded_agents.py",
    "tests/integration/test_without_a_worker.py",
    "tests/integration/web_notices/test_announcing.py",
    "tests/workflow/test_lineage.py",
    "tests/workflow/test_model_trouble.py",
    "tests/integration/test_rehearsal.py",
    "tests/integration/test_guarded_worker.py",
    "tests/integration/test_catalog_change.py",
    "tests/integration/test_written_missions.py",
    "tests/integration/test_users_folder.py",
    "tests/integration/test_own_documents.py",
    "tests/integration/test_langgraph_sessions.py",
    "tests/integration/test_stuck.py",
    "tests/integration/web/test_model_text.py",
    "tests/workflow/test_rollback_fire.py",
    "tests/workflow/test_limits.py",
    "tests/integration/test_exported_effects.py",
    "tests/integration/test_quickstart.py",
    "tests/integration/test_lineage.py",
    "tests/integration/test_cli_mission.py",
    "tests/integration/adapters/test_mcp_stdio.py",
    "tests/integration/test_personal_values.py",
    "tests/integration/test_guarded_functions.py",
    "tests/integration/proxy/test_proxy.py",
    "tests/chaos/test_following.py",
    "tests/integration/web_notices/test_slack.py",
    "tests/integration/test_same_again.py",
    "tests/integration/web_ag_ui/test_runs.py",
    "tests/integration/web_notices/test_webhooks.py",
    "tests/integration/catalog/test_hostile.py",
    "tests/integration/test_plan_first.py",
    "tests/integration/mcp/test_transports.py",
    "tests/integration/test_tool_saga.py",
    "tests/integration/test_reset_events.py",
    "tests/integration/test_goals_by_witness.py",
    "tests/integration/web_sign_in/test_signed_for_people.py",
    "tests/integration/test_foreign_cancels.py",
    "tests/integration/web_sign_in/test_tokens.py",
    "tests/integration/test_parked_lists.py",
    "tests/integration/test_repair.py",
    "tests/integration/web/test_api_events.py",
    "tests/integration/test_injection.py",
    "tests/integration/mcp/test_missions_for_clients.py",
    "tests/integration/adapters/test_oauth.py",
    "tests/integration/test_rolling_upgrade.py",
    "tests/integration/test_dev.py",
    "tests/integration/mcp/test_no_model_approves.py",
    "tests/integration/web_notices/test_saga_notices.py",
    "tests/integration/test_saga_list.py",
    "tests/integration/web_pages/test_missions.py",
    "tests/integration/web_notices/test_upgrade.py",
    "tests/integration/test_plain_goals.py",
    "tests/integration/web_sign_in/test_sign_in.py",
    "tests/integration/test_sweep.py",
    "tests/integration/test_written_terms.py",
    "tests/integration/test_believable_results.py",
    "tests/integration/mcp/test_guarded_calls.py",
    "tests/integration/web_pages/test_decisions.py",
    "tests/integration/test_signed_decisions.py",
)
"""Files that take most of the time of a run, the longest first: `make test-all` runs
them, and begins with them, so that none ends alone."""


def file_of(nodeid: str) -> str:
    """Return the file of a test, relative to the project."""
    return nodeid.partition("::")[0]


def _waits(file: str) -> bool:
    return file.startswith(_WAITING)


def _stands_alone(file: str) -> bool:
    """Whether a file of those that wait needs no installation of a whole session."""
    return file.count("/") > 2


def in_order(items: list[pytest.Item]) -> None:
    """Put the slow files first, and last those that any process runs as cheaply."""
    place = {file: n for n, file in enumerate(SLOW)}
    items.sort(
        key=lambda item: (
            place.get(file := file_of(item.nodeid), len(SLOW)),
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
