"""A worker with a deliberate mistake: `python -m tests.chaos.mutant_worker MUTANT --ready-file F`.

The mistake is made in the text of a module as it is imported, wherever that happens: workflows are
imported once more inside their sandbox.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


@dataclass(frozen=True)
class Mutant:
    """A module, a piece of its text that is there once, and what stands there instead."""

    module: str
    right: str
    wrong: str


MUTANTS = {
    "ledger-after-call": Mutant(
        "workflows.sending",
        """\
    progress.write(_written_ahead(progress.state.ledger, allowed, deadline=deadline))
    progress.count_call()
    outcome, cancelled = await finish_despite_cancel(calls.invoke_tool(call, attempts=attempts))
""",
        """\
    progress.count_call()
    outcome, cancelled = await finish_despite_cancel(calls.invoke_tool(call, attempts=attempts))
    progress.write(_written_ahead(progress.state.ledger, allowed, deadline=deadline))
""",
    ),
    "cancel-without-key": Mutant(
        "orchestrator.saga.compensation",
        "self._call(tool, arguments, key=key, call_id=key, cancels=True)",
        "self._call(tool, arguments, key=None, call_id=key, cancels=True)",
    ),
    "prompt-in-rollback": Mutant(
        "workflows.rollback_workflow",
        """\
        self._show(RollbackStatus.ROLLING_BACK)
""",
        """\
        self._show(RollbackStatus.ROLLING_BACK)
        ui.show_status("awaiting_confirmation")
        await workflow.sleep(0.1)
""",
    ),
}


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """The code of the wrong text, never what was compiled from the right one."""
        text = self.get_data(self.path).decode()
        assert text.count(self._mutant.right) == 1, f"{fullname} has changed: mend the mutant"
        return compile(text.replace(self._mutant.right, self._mutant.wrong), self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module to change, found as any other and loaded otherwise."""
        if fullname != self._mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self._mutant)
        return spec


if __name__ == "__main__":
    sys.meta_path.insert(0, _Finder(MUTANTS[sys.argv[1]]))
    sys.argv[1] = "worker"
    from orchestrator.cli import main

    main()
