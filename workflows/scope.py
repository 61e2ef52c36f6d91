"""The scope of a task in a mission's workflow: one of the legs, or the mission itself.

Activities of a leg run on its agent's task queue, and a wait for state that workers are missing
shows at the leg. Tasks inherit the scope that they were created in.
"""

from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from temporalio import workflow


@runtime_checkable
class Scope(Protocol):
    """A leg, or a workflow."""

    @property
    def task_queue(self) -> str | None:
        """Return the task queue of the scope's activities; None: the workflow's own."""
        ...

    def stall(self, why: str) -> None:
        """Show why the scope waits for state that workers are missing; empty: no wait."""
        ...


_SCOPE: ContextVar[Scope | None] = ContextVar("scope", default=None)


def work_for(scope: Scope) -> None:
    """Set the scope of activities and waits for this task and the tasks that it starts.

    A task's context is its own and ends with the task, so nothing is restored: a coroutine that a
    worker evicts is closed in another context.
    """
    _SCOPE.set(scope)


def task_queue() -> str | None:
    """Return the task queue of activities; None: the workflow's own."""
    scope = _SCOPE.get()
    return None if scope is None else scope.task_queue


def stall(why: str) -> None:
    """Show why the leg, or else the workflow, waits; empty: no longer waiting."""
    shown = _SCOPE.get() or workflow.instance()
    if isinstance(shown, Scope):
        shown.stall(why)
