"""Share a worker's slots, so that providers that hang leave slots for the others.

A provider of models has a share like any other. A call beyond a share frees its slot at once and is
sent later, from any worker. Its workflow waits, so a worker that dies occupies no place.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import SlotsTaken
from orchestrator.messages.mission_policy import LONGEST_PAUSE

_OF_PROVIDER: Final = 2
_OF_MISSION: Final = 4
"""A provider gets a half of the slots that no other provider holds, and a mission a quarter of all:
providers that hang, one after the other, never hold all of them."""
_KEPT_S: Final = LONGEST_PAUSE.total_seconds() + 1
"""Time for which a failed attempt reserves its place for the next attempt of the same call."""


@dataclass(frozen=True, slots=True)
class _Place:
    task_queue: str
    provider: str
    mission_id: str
    until: float = math.inf


class FairSlots:
    """Places of calls at providers, by task queue; used in one event loop."""

    def __init__(self, slots: int = 100, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the number of activities that one task queue runs at once."""
        self._slots = slots
        self._of_mission = max(1, slots // _OF_MISSION)
        self._clock = clock
        self._places: dict[tuple[str, ...], _Place] = {}

    def check(self, provider: str, mission_id: str) -> None:
        """Refuse a call beyond the share of its provider or its mission.

        Raises:
            SlotsTaken: the call has to be sent later.
        """
        now, queue = self._clock(), activity.info().task_queue
        self._places = {key: place for key, place in self._places.items() if place.until > now}
        here = [place for place in self._places.values() if place.task_queue == queue]
        of_provider = sum(place.provider == provider for place in here)
        of_mission = sum(place.mission_id == mission_id for place in here)
        most = max(1, (self._slots - len(here) + of_provider) // _OF_PROVIDER)
        if of_provider >= most or of_mission >= self._of_mission:
            count = max(of_provider, of_mission)
            raise SlotsTaken(
                f"{count} calls of {provider} or of mission {mission_id} are under way at this "
                "worker, all that may be at once; this one is sent after one of them",
                provider=provider,
                mission_id=mission_id,
            )

    @contextmanager
    def taken(self, provider: str, mission_id: str) -> Iterator[None]:
        """Hold a place while a call is made; later attempts of the call are not checked again.

        Raises:
            SlotsTaken: the share is used up; this attempt sent nothing.
        """
        info = activity.info()
        key = (info.workflow_id or "", info.workflow_run_id or "", info.activity_id)
        if info.attempt == 1:
            self.check(provider, mission_id)
        place = _Place(info.task_queue, provider, mission_id)
        self._places[key] = place
        try:
            yield
        except ApplicationError as error:
            until = -math.inf if error.non_retryable else self._clock() + _KEPT_S
            self._places[key] = _Place(info.task_queue, provider, mission_id, until)
            raise
        except BaseException:
            self._places.pop(key, None)
            raise
        self._places.pop(key, None)


def provider_of(tool: Tool) -> str:
    """Return the host of a tool's server; the name of its document if it has no server."""
    return urlsplit(tool.server).netloc or tool.document


def provider_of_model(model: str | None) -> str:
    """Return the name of a model's provider: what stands before the colon; None: the default."""
    return f"the model provider {model.partition(':')[0]}" if model else "the default model"
