"""The tools by which a leg is reached, as far as its goal tells before anything is called."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.accounting.grounds import Grounds, of_tools
from orchestrator.planning.models import LegPlan
from orchestrator.planning.rules.answers import is_listing
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.target import find_target
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext
from orchestrator.saga.served import Order


@dataclass(frozen=True)
class Path:
    """The tools that reach one clause, what feeds them behind them; empty: none does."""

    targets: tuple[Tool, ...] = ()
    feeders: tuple[Tool, ...] = ()
    given: JsonObject = field(default_factory=dict, hash=False)
    """Values that came with the goal, by the names of inputs."""

    @cached_property
    def grounds(self) -> Grounds:
        """What its tools take up."""
        return of_tools((*self.targets, *self.feeders), self.given)

    @property
    def finds(self) -> Tool | None:
        """The tool of it that lists what there is: its answers may tell one thing from another."""
        reads = (tool for tool in (*self.feeders, *self.targets) if tool.effect is Effect.READ)
        return next((tool for tool in reads if is_listing(tool)), None)

    @cached_property
    def writes(self) -> Parameter | None:
        """The input of a side effect that takes the words of the goal: a title, a text."""
        made = (tool for tool in self.targets if tool.is_side_effect)
        inputs = (p for _, p in of_tools(made).inputs)
        written = (p for p in inputs if p.kind in (Kind.TEXT, Kind.TITLE) and not p.is_persons_name)
        return next((p for p in written if p.required), None)

    def __or__(self, other: "Path") -> "Path":
        targets = dict.fromkeys(tool.name for tool in (*self.targets, *other.targets))
        tools = {t.name: t for t in (*self.targets, *self.feeders, *other.targets, *other.feeders)}
        feeders = tuple(tool for name, tool in tools.items() if name not in targets)
        return Path(tuple(tools[n] for n in targets), feeders, {**self.given, **other.given})


class PathFinder:
    """Finds the paths of the clauses of one goal."""

    def __init__(
        self,
        catalog: Catalog,
        router: Router | None,
        goal: str,
        *,
        now: datetime,
        given: JsonObject,
    ) -> None:
        """Take what reads the goal; without a router every tool may be meant.

        `given` are values by the names of inputs, as they came with it.
        """
        self._catalog = catalog
        self._router = router.without_deadline() if router is not None else None
        self._goal = goal
        self._now = now
        self._given = given

    def of_leg(self, leg: LegPlan) -> Path:
        """The tool that its goal asks for, the best for each of its orders, and what feeds them."""
        if self._router is None:
            return Path(tuple(self._catalog.tools.values()), (), self._given)
        context = RouteContext(goal=self._goal, walls=(leg.agent.wall,))
        selection = self._router.route(leg.goal, context, now=self._now)
        best = find_target(selection, self._catalog, now=self._now, walls=(leg.agent.wall,))
        names = [best.name] if best is not None else []
        for order in leg.orders:
            if not {*names} & {*order.tools}:
                names += order.tools[:1]
        return self.of_tools(names)

    def of_order(self, order: Order, path: Path) -> Path:
        """Of a leg that does more, only what serves one of its orders."""
        names = [tool.name for tool in path.targets if tool.name in order.tools]
        return self.of_tools(names or order.tools[:1])

    def of_tools(self, names: Iterable[str]) -> Path:
        """These tools, and what feeds them."""
        targets = tuple(self._catalog.tool(name) for name in dict.fromkeys(names))
        if self._router is None:
            return Path(targets, (), self._given)
        fed = dict.fromkeys(name for tool in targets for name in self._router.feeders(tool.name))
        own = {tool.name for tool in targets}
        feeders = tuple(self._catalog.tool(name) for name in fed if name not in own)
        return Path(targets, feeders, self._given)
