"""Every point at which a mission can be hit: each request by a fault, each event by a kill."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import TypeAdapter

from orchestrator.chaos.scenarios.plan import MissionScript
from orchestrator.chaos.scenarios.provider_faults import LIMITS
from orchestrator.core.record import Record
from orchestrator.messages.mission import MissionStatus
from orchestrator.sandbox.faults import FaultKind, FaultRule

_TOO_LONG_S = 1.6 * LIMITS.call_timeout.total_seconds()


class KillPoint(Record):
    """A moment in a mission's histories at which the worker that is there dies."""

    part: str
    """Which history: "" the mission's own, else what follows its id: ".1-flights", ".rollback"."""
    when: Literal["task", "before", "after"]
    """While a workflow task is worked on, or before or after an activity is carried out."""
    at: str
    """The number of the task's event, or the id of the activity."""
    what: str
    """For people: the event, or the name of the activity."""


KILL_POINTS = TypeAdapter(dict[str, KillPoint])
"""What workers read: at most one point of each mission, by its id."""


class Shape(Record):
    """One way in which missions of a goal go, unless they are hit."""

    name: Literal["succeeds", "is rolled back"]
    goal: str
    rules: tuple[FaultRule, ...] = ()

    @property
    def ends_as(self) -> MissionStatus:
        """The status of an undisturbed one."""
        succeeds = self.name == "succeeds"
        return MissionStatus.SUCCEEDED if succeeds else MissionStatus.ROLLED_BACK

    def script(self, mission_id: str, index: int, first: Sequence[FaultRule] = ()) -> MissionScript:
        """A mission of this shape; of two rules that meet a request, the first one strikes."""
        rules = (*first, *self.rules)
        theirs = {"request_prefix": f"{mission_id}."}
        return MissionScript(
            index=index,
            mission_id=mission_id,
            goal=self.goal,
            rules=tuple(rule.model_copy(update=theirs) for rule in rules),
        )


class SeenRequest(Record):
    """A request that a provider got from an undisturbed mission of a shape."""

    operation: str
    request_id: str

    @property
    def is_cancel(self) -> bool:
        """Whether it takes something back."""
        return self.request_id.endswith(".cancel")


class Point(Record):
    """One run of the exhaustive mode."""

    shape: Shape
    fault: FaultRule | None = None
    kill: KillPoint | None = None

    @property
    def name(self) -> str:
        """What it is, in a line."""
        if self.kill is not None:
            where = self.kill.part or "the mission"
            hit = f"a worker dies at {self.kill.what} of {where} ({self.kill.when} {self.kill.at})"
        else:
            assert self.fault is not None
            often = "once" if self.fault.times == 1 else "for good"
            with_status = self.fault.kind.startswith("status")
            kind = f"{self.fault.kind} {self.fault.status}" if with_status else self.fault.kind
            hit = f"{kind} {often} at {self.fault.operation_id} #{self.fault.after + 1}"
        return f"a mission that {self.shape.name}: {hit}"

    def script(self, mission_id: str, index: int) -> MissionScript:
        """The mission that is hit at this point."""
        return self.shape.script(mission_id, index, () if self.fault is None else (self.fault,))


def rolled_back_shape(goal: str, refused: str) -> Shape:
    """The shape of missions that lose their last booking, and so are rolled back."""
    refusal = FaultRule(operation_id=refused, kind="status_before", status=409)
    return Shape(name="is rolled back", goal=goal, rules=(refusal,))


def fault_points(shape: Shape, requests: Iterable[SeenRequest]) -> list[Point]:
    """Each request of a shape, hit by each kind of fault."""
    seen: dict[str, int] = {}
    points = []
    for request in requests:
        number = seen.get(request.operation, 0)
        seen[request.operation] = number + 1
        points += [
            Point(shape=shape, fault=rule.model_copy(update={"after": number}))
            for rule in _rules(request)
        ]
    return points


def _rules(request: SeenRequest) -> list[FaultRule]:
    name = request.operation
    once: list[FaultKind] = ["drop_before", "drop_after", "status_before", "status_after"]
    once += ["rate_limit", "duplicate"]
    # A cancel that always fails is given up after minutes: one kind of failure shows it.
    for_good: list[FaultKind] = ["drop_after"]
    if not request.is_cancel:
        for_good += ["drop_before", "status_after"]
    return [
        *(FaultRule(operation_id=name, kind=kind, times=1) for kind in once),
        *(FaultRule(operation_id=name, kind=kind) for kind in for_good),
        FaultRule(operation_id=name, kind="latency", delay_s=_TOO_LONG_S, times=1),
        FaultRule(operation_id=name, kind="status_before", status=403, times=1),
        *(
            [FaultRule(operation_id=name, kind="refuse_cancel", times=1)]
            if request.is_cancel
            else [FaultRule(operation_id=name, kind="status_before", status=409, times=1)]
        ),
    ]
