"""The points at which a mission can be struck: requests by faults, events by kills."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import TypeAdapter

from orchestrator.chaos.scenarios.plan import LIMITS, MissionScript
from orchestrator.core.record import Record
from orchestrator.messages.mission import MissionStatus
from orchestrator.sandbox.faults import FaultKind, FaultRule

_TOO_LONG_S = 1.6 * LIMITS.call_timeout.total_seconds()


class KillPoint(Record):
    """A moment in a mission's histories at which its worker dies."""

    part: str
    """The suffix of the workflow's id: "" for the mission, ".rollback" for its rollback."""
    run: int = 0
    """The run, by how often the workflow had continued as new."""
    when: Literal["task", "before", "after"]
    """During a workflow task, or before or after an activity."""
    at: str
    """The number of the task's event, or the id of the activity."""
    what: str
    """The event or the name of the activity, for people."""


KILL_POINTS = TypeAdapter(dict[str, KillPoint])
"""The points that workers read, by mission id."""


class Shape(Record):
    """A course of undisturbed missions of a goal."""

    name: Literal["succeeds", "is rolled back"]
    goal: str
    rules: tuple[FaultRule, ...] = ()

    @property
    def ends_as(self) -> MissionStatus:
        """The final status of an undisturbed mission."""
        succeeds = self.name == "succeeds"
        return MissionStatus.SUCCEEDED if succeeds else MissionStatus.ROLLED_BACK

    def script(self, mission_id: str, index: int, first: Sequence[FaultRule] = ()) -> MissionScript:
        """Return a mission of this shape; of two matching rules the first one strikes."""
        rules = (*first, *self.rules)
        theirs = {"request_prefix": f"{mission_id}."}
        return MissionScript(
            index=index,
            mission_id=mission_id,
            goal=self.goal,
            rules=tuple(rule.model_copy(update=theirs) for rule in rules),
        )


class SeenRequest(Record):
    """A request of an undisturbed mission."""

    operation: str
    request_id: str

    @property
    def is_cancel(self) -> bool:
        """True for the request of a cancel."""
        return self.request_id.endswith(".cancel")


class Point(Record):
    """A mission of the exhaustive mode."""

    shape: Shape
    fault: FaultRule | None = None
    kill: KillPoint | None = None

    @property
    def name(self) -> str:
        """Description in one line."""
        if self.kill is not None:
            where = self.kill.part or "the mission"
            where += f" after continue-as-new {self.kill.run}" if self.kill.run else ""
            hit = f"a worker dies at {self.kill.what} of {where} ({self.kill.when} {self.kill.at})"
        else:
            assert self.fault is not None
            often = "once" if self.fault.times == 1 else "for good"
            with_status = self.fault.kind.startswith("status")
            kind = f"{self.fault.kind} {self.fault.status}" if with_status else self.fault.kind
            hit = f"{kind} {often} at {self.fault.operation_id} #{self.fault.after + 1}"
        return f"a mission that {self.shape.name}: {hit}"

    def script(self, mission_id: str, index: int) -> MissionScript:
        """Return the mission that is struck at this point."""
        return self.shape.script(mission_id, index, () if self.fault is None else (self.fault,))


def rolled_back_shape(goal: str, refused: str) -> Shape:
    """Return the shape of missions that are rolled back because their last booking is refused."""
    refusal = FaultRule(operation_id=refused, kind="status_before", status=409)
    return Shape(name="is rolled back", goal=goal, rules=(refusal,))


def fault_points(shape: Shape, requests: Iterable[SeenRequest]) -> list[Point]:
    """Return a point for each request of a shape and each kind of fault."""
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
    # A cancel that always fails takes minutes: one kind of failure is enough.
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
