"""Keeps activities from running whose input no key here opens: the task goes back unharmed."""

from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from orchestrator.adapters.temporal.mission_converter import LockedInput
from orchestrator.messages import names

_WAITS = frozenset({names.AWAIT_KEY, names.AWAIT_STATE})


class LockedCalls(Interceptor):
    """For workers: an activity that is given a mark in the place of a payload fails at once."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """The activities of the worker, looked at before they run."""
        return _OnlyUnlocked(next)


class _OnlyUnlocked(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        for given in (*input.args, *info.heartbeat_details):
            if isinstance(given, LockedInput):
                raise ApplicationError(
                    str(given.why),
                    type=type(given.why).__name__,
                    non_retryable=_is_untouched(info),
                )
        return await super().execute_activity(input)


def _is_untouched(info: activity.Info) -> bool:
    """Whether no attempt before this one may have done anything.

    The workflow then waits, and begins the activity anew: none of its attempts is lost, which may
    be the only one that a call has. What it waits by is attempted for as long as it takes.
    """
    return info.attempt == 1 and info.activity_type not in _WAITS
