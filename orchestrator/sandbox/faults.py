"""Planned faults: which requests get an error, a delay or no answer at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FaultKind = Literal[
    "status_before",
    "status_after",
    "drop_before",
    "drop_after",
    "latency",
    "duplicate",
    "refuse_cancel",
    "rate_limit",
    "gateway",
    "breach_before",
    "breach_after",
    "refuse_repeat",
    "truncate",
    "cut_chunk",
    "late_duplicate",
    "overcharge",
    "moved_version",
]

Breach = Literal["html", "error", "no_reference"]
"""An undeclared body under a success status: a page, an error as JSON, or no reference."""

OddAnswer = Literal[
    "null",
    "naive_time",
    "surrogate",
    "hostile_headers",
    "other_status",
    "multi_status",
    "requires_action",
    "says_no",
    "huge_id",
    "id_twice",
    "costly",
]
"""The true answer with one oddity: a null, a time without offset, half a character, headers that no
reader can use, another status and type, half a batch, a state that is no success yet, a `success:
false`, an id of 20 kB, the id of an earlier call of the mission, or 300,000 more values."""

Role = Literal["call", "probe", "cancel", "read"]
"""The purpose of a request: to change something, to check the outcome of a change, to cancel it, or
to read.
"""


class FaultRule(BaseModel):
    """A rule that injects one kind of fault into the requests of one operation.

    - `status_before`: answers `status` without performing the request.
    - `status_after`: performs it, then answers `status`.
    - `drop_before`: closes the connection without performing it.
    - `drop_after`: performs it, then closes the connection without an answer.
    - `latency`: waits `delay_s` seconds first; combines with the other kinds.
    - `duplicate`: the provider gets the request twice; the caller gets the first answer.
    - `refuse_cancel`: answers 409 without performing it; under "*" it matches cancels only.
    - `rate_limit`: answers 429, or a `status` of 403, with Retry-After without performing it.
    - `gateway`: answers `status` with an undeclared HTML page, without performing it.
    - `breach_before`: answers a success status with `breach`, without performing it.
    - `breach_after`: performs it, and answers a success status with `breach`.
    - `refuse_repeat`: performs it and closes the connection; answers repetitions with `status`.
    - `truncate`: performs it, and stops in the middle of a body whose length it announced.
    - `cut_chunk`: performs it, and stops within a chunk of the body.
    - `late_duplicate`: the same request arrives again, `delay_s` seconds after its answer.
    - `moved_version`: a cancel with `If-Match` meets a resource that others have just changed.
    - `overcharge`: charges a quarter more than the offered price, and states it.

    Attributes:
        operation_id: the operation that the rule matches; "*" matches all.
        meets: the purpose of the requests that it matches; "any" matches all.
        kind: what happens.
        probability: in [0, 1], of each matching request.
        times: how often it may happen; None for no limit.
        after: how many matching requests pass unharmed first.
        request_prefix: matches only requests whose X-Request-Id starts so; "" matches all.
        status: for the status kinds, `gateway` and `refuse_repeat`.
        breach: for the breach kinds.
        delay_s: seconds, for latency and late duplicates.
        retry_after_s: whole seconds, sent as Retry-After with rate_limit and, when set, with
            the status kinds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation_id: str = "*"
    meets: Literal["any", "call", "probe", "cancel", "read"] = "any"
    kind: FaultKind
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    times: Annotated[int, Field(ge=1)] | None = None
    after: Annotated[int, Field(ge=0)] = 0
    request_prefix: str = ""
    status: Annotated[int, Field(ge=400, le=599)] = 503
    breach: Breach | OddAnswer = "html"
    delay_s: Annotated[float, Field(ge=0)] = 1.0
    retry_after_s: Annotated[int, Field(ge=0)] | None = None


RULES = TypeAdapter(list[FaultRule])


@dataclass(frozen=True)
class InjectedFault:
    """The fault of one request: a delay in seconds, and at most one other rule."""

    delay_s: float = 0.0
    rule: FaultRule | None = None
    is_repeat: bool = False
    """True if it refuses the repetition of a request whose answer was lost."""

    @property
    def surcharge(self) -> Decimal:
        """Factor on the price."""
        is_dear = self.rule is not None and self.rule.kind == "overcharge"
        return Decimal("1.25") if is_dear else Decimal(1)

    @property
    def name(self) -> str | None:
        """Kinds of faults that struck, for the record; None for an undisturbed request."""
        kinds = ["latency"] if self.delay_s else []
        return "+".join([*kinds, *([self.rule.kind] if self.rule else [])]) or None


class FaultPlan:
    """Draws the fault of each request; equal seeds and requests get equal faults.

    Example:
        >>> plan = FaultPlan(rules=[FaultRule(operation_id="pay", kind="drop_after", times=1)])
        >>> plan.draw("pay").name, plan.draw("pay").name
        ('drop_after', None)
    """

    def __init__(self, seed: int = 0, rules: Sequence[FaultRule] = ()) -> None:
        self._seed = seed
        self.replace(rules)

    def replace(self, rules: Sequence[FaultRule], *, seed: int | None = None) -> None:
        """Restart with these rules; the seed stays unless one is given."""
        self._seed = self._seed if seed is None else seed
        self._rules: list[FaultRule] = []
        self._fired: list[int] = []
        self._met: list[int] = []
        self._lost: list[set[str]] = []
        # One random stream per rule, so that one rule's requests do not shift the chances of
        # another.
        self._chances: list[Random] = []
        self.add(rules)

    def add(self, rules: Sequence[FaultRule]) -> None:
        """Append rules; those before keep their counts."""
        for rule in rules:
            self._chances.append(Random(f"{self._seed}:{len(self._rules)}"))
            self._rules.append(rule)
            self._fired.append(0)
            self._met.append(0)
            self._lost.append(set())

    def clear(self) -> None:
        """Remove all rules."""
        self.replace(())

    def draw(
        self, operation_id: str, *, role: Role = "read", request_id: str | None = None
    ) -> InjectedFault:
        """Return the fault of the next request; the first rule that strikes wins."""
        delay_s, struck, is_repeat = 0.0, None, False
        for index, rule in enumerate(self._rules):
            if rule.operation_id not in ("*", operation_id) or rule.meets not in ("any", role):
                continue
            if rule.operation_id == "*" and rule.kind == "refuse_cancel" and role != "cancel":
                continue
            if not (request_id or "").startswith(rule.request_prefix):
                continue
            if request_id in self._lost[index]:
                struck, is_repeat = struck or rule, is_repeat or struck is None
                continue
            # Counted even if an earlier rule strikes, so that the n-th request stays the n-th.
            self._met[index] += 1
            if rule.kind != "latency" and struck is not None:
                continue
            is_spent = rule.times is not None and self._fired[index] >= rule.times
            if self._met[index] <= rule.after or is_spent:
                continue
            if self._chances[index].random() >= rule.probability:
                continue
            self._fired[index] += 1
            if rule.kind == "latency":
                delay_s += rule.delay_s
            else:
                struck = rule
                if rule.kind == "refuse_repeat" and request_id:
                    self._lost[index].add(request_id)
        return InjectedFault(delay_s, struck, is_repeat)

    def to_json(self, request_prefix: str = "") -> dict[str, Any]:
        """Return the seed and the rules of a prefix, or all, with the number of strikes of each."""
        pairs = zip(self._rules, self._fired, strict=True)
        rules = [
            {**rule.model_dump(), "fired": fired}
            for rule, fired in pairs
            if rule.request_prefix.startswith(request_prefix)
        ]
        return {"seed": self._seed, "rules": rules}
