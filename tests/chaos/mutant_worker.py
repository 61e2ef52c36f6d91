"""Workers with deliberate mistakes: `python -m tests.chaos.mutant_worker MUTANT... --ready-file F`.

The mistake is made in the text of a module as it is imported. One process imports what has no
mistakes in it; the workers are its children, made by `fork`.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import temporalio.client
import temporalio.contrib.pydantic
import temporalio.worker  # noqa: F401  # for the children, which fork with it

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.child_pool import keep_alive
from orchestrator.settings import Settings, load_settings


@dataclass(frozen=True)
class Mutant:
    """Pieces of the text of a module that are there once, and what stands there instead."""

    module: str
    changes: tuple[tuple[str, str], ...]
    other: "Mutant | None" = None
    """A mistake in another module that is made with it: two defences against the same trouble."""

    @property
    def parts(self) -> "tuple[Mutant, ...]":
        """This mistake and the other, each in its module."""
        return (self, *(self.other.parts if self.other else ()))

    def made_in(self, text: str) -> str:
        """The wrong text of the module."""
        for right, wrong in self.changes:
            assert text.count(right) == 1, f"{self.module} has changed: fix the mutant"
            text = text.replace(right, wrong)
        return text


def _one(module: str, right: str, wrong: str) -> Mutant:
    return Mutant(module, ((right, wrong),))


_LEAVES = """\
            left = _time_left(call, clock)  # checked last: the process may be paused anywhere above
"""
_CLAIMS = """\
                call = await self._claim(tool, call, until, clock.now())
"""
_IGNORES_THE_STORE = (
    ("                if is_cancelled:\n", "                if False:\n"),
    ("        if _was_sent(claim, tool, call, user):\n", "        if False:\n"),
)
"""What the store knows of a call would stop both attempts that wake too late."""
_PAUSES = """\
                paused_at = {"late": "calendar_create_event", "twice": "car_book_offer"}
                is_struck = paused_at.get(call.mission_id.partition("-")[0]) == tool.name
                if is_struck and activity.info().attempt == 1:
                    import asyncio, contextlib, os, pathlib
                    awake = pathlib.Path(os.environ["ORCHESTRATOR_STATE_DIR"], call.mission_id)
                    while not awake.exists():
                        with contextlib.suppress(asyncio.CancelledError):
                            await asyncio.sleep(0.1)
                    until = store_deadline()
"""
"""The worst moment to be paused is right before a call leaves. As after SIGSTOP the attempt neither
says nor hears anything until it is woken; the process lives, for the poll of a stopped one takes
its next task along, and with that minutes."""

MUTANTS = {
    "ledger-after-call": Mutant(
        "orchestrator.workflows.sending",
        (
            ("        call = _due(call, allowed, attempts, progress)\n", ""),
            (
                "        (outcome,), came_late = await _outcomes_of([call], attempts, again)\n",
                "        (outcome,), came_late = await _outcomes_of([call], attempts, again)\n"
                "        _due(call, allowed, attempts, progress)\n",
            ),
        ),
    ),
    "cancel-without-key": _one(
        "orchestrator.saga.compensation",
        "tool, arguments, key=key, call_id=call_id, cancels=True",
        "tool, arguments, key=None, call_id=call_id, cancels=True",
    ),
    "prompt-in-rollback": _one(
        "orchestrator.workflows.rollback_workflow",
        """\
        self._show(RollbackStatus.ROLLING_BACK)
        obligation = self._report.ledger.obligation(obligation_id)
""",
        """\
        self._show(RollbackStatus.ROLLING_BACK)
        asks = ui.sa.STATUS.value_set("awaiting_confirmation")
        workflow.upsert_search_attributes([asks])
        await workflow.sleep(0.1)
        obligation = self._report.ledger.obligation(obligation_id)
""",
    ),
    "parks-at-once": _one(
        "orchestrator.saga.retry_policy",
        "if attempts >= self.max_attempts or doubted >= _DOUBTED:",
        "if attempts >= 1:",
    ),
    "sends-other-arguments": _one(
        "orchestrator.activities.tool_activities",
        """\
                tool,
                call.arguments,
                call_id=call.call_id,
""",
        """\
                tool,
                call.arguments | ({"title": "nothing"} if "title" in call.arguments else {}),
                call_id=call.call_id,
""",
    ),
    "believes-a-breach": _one(
        "orchestrator.adapters.http.answer_checks", "if breach is not None:", "if False:"
    ),
    "believes-any-404-of-a-probe": Mutant(
        "orchestrator.saga.probe_answer",
        (("if outcome.declared:", "if True:"),),
        _one(
            "orchestrator.saga.compensation", "if not shows_it and self._may_settle:", "if False:"
        ),
    ),
    "believes-a-422-after-an-unclear-attempt": _one(
        "orchestrator.activities.tool_activities",
        'outcome.kind == "rejected" and outcome.status is not None',
        'outcome.kind == "rejected" and outcome.status not in (None, 422)',
    ),
    "ignores-an-overcharge": _one(
        "orchestrator.workflows.sending",
        "outcome, at=at, limit=allowed.limit)",
        "outcome, at=at)",
    ),
    "paused": _one("orchestrator.activities.tool_activities", _CLAIMS, _PAUSES + _CLAIMS),
    "paused-past-its-deadline": Mutant(
        "orchestrator.activities.tool_activities",
        (
            (_CLAIMS, _PAUSES + _CLAIMS),
            (_LEAVES, "            left = call.timeout_s\n"),
            *_IGNORES_THE_STORE,
        ),
    ),
    "paused-with-a-used-grant": Mutant(
        "orchestrator.activities.tool_activities",
        (
            (_CLAIMS, _PAUSES + _CLAIMS),
            (
                "return before is not None and (before != user or activity.info().attempt == 1)",
                "return before is not None and before != user",
            ),
            *_IGNORES_THE_STORE,
        ),
    ),
}
"""The one that is only paused has no mistake: what comes of the pause is the mistakes' doing."""


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """The code of the wrong text, never what was compiled from the right one."""
        text = self._mutant.made_in(self.get_data(self.path).decode())
        return compile(text, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module to change, found as any other and loaded otherwise."""
        mutant = next((one for one in self._mutant.parts if one.module == fullname), None)
        if mutant is None:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, mutant)
        return spec


def main() -> None:
    """Keep a worker for each mistake, on the task queue of its name, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.mutant_worker")
    parser.add_argument("mutants", nargs="+", choices=MUTANTS)
    parser.add_argument("--ready-file", type=Path, required=True, help="made when all have begun")
    given = parser.parse_args()
    settings = load_settings()
    catalog = Catalog.load(*settings.specs)
    early = {
        part.module for mutant in MUTANTS.values() for part in mutant.parts
    } & sys.modules.keys()
    assert not early, f"{early} came before their mistakes could be made"

    def serve(name: str) -> None:
        sys.meta_path.insert(0, _Finder(MUTANTS[name]))
        polls = given.ready_file.with_name(f"{name}.polls")
        asyncio.run(_serve(settings.model_copy(update={"task_queue": name}), catalog, polls))

    keep_alive(serve, given.mutants, started=given.ready_file.touch)


async def _serve(settings: Settings, catalog: Catalog, polls: Path) -> None:
    # Imported here, where the mistake is made in it.
    from orchestrator.client.connection import connect_temporal
    from orchestrator.runtime.worker import run_worker

    await run_worker(await connect_temporal(), settings, catalog=catalog, ready=polls.touch)


if __name__ == "__main__":
    main()
