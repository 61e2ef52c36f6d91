"""An interceptor that stops activities whose input cannot be decrypted, before any effect."""

from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from orchestrator.adapters.temporal.mission_converter import LockedInput
from orchestrator.messages import names

_WAITS = frozenset({names.AWAIT_KEY, names.AWAIT_STATE})


class LockedCalls(Interceptor):
    """Worker interceptor: an activity that receives a `LockedInput` fails at once."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Return the inbound interceptor that checks the input of each activity before it runs."""
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
    """Return True if no earlier attempt of the activity may have had an effect.

    The workflow then waits and schedules the activity again, so no attempt is used up: a call may
    have only one. The activities that the workflow waits with are retried without a limit.
    """
    return info.attempt == 1 and info.activity_type not in _WAITS
