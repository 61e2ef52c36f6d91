"""`python -m tests.benchmarks.real_model [--only ID...]`: a real model plans sixteen goals.

Each is asked, approved card by card, and judged by its effects. Nothing else should run meanwhile:
the model takes both cores of a small machine.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.markup import escape

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.start import new_mission_id
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.pii import as_written
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.runtime.devserver import Ports
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve
from tests.benchmarks.real_model.goals import GOALS, Judged, RealGoal, called_by, judge
from tests.benchmarks.real_model.server import NotInstalled, install, serving
from tests.forked import ForkedStack

FOLDER: Final = Path("build/real-model")
_LONGEST_S: Final = 1_200.0
_LOOKS_EACH_S: Final = 1.0
_MOST_QUESTIONS: Final = 1
_OUT: Final = Console(soft_wrap=True)


class Run:
    """One goal on its way: its cards are approved, its questions end it."""

    def __init__(self, goal: RealGoal) -> None:
        self.goal = goal
        self.warned: dict[str, tuple[str, ...]] = {}
        """What the cards said is wrong, by what they asked for."""
        self.questions: list[str] = []

    async def to_end(self, client: MissionClient) -> MissionResult:
        """Return the result; a mission that takes too long is cancelled."""
        request = MissionRequest(
            goal=self.goal.goal, inputs=self.goal.inputs, mission_id=new_mission_id(self.goal.id)
        )
        mission = await client.start(request)
        deadline = time.monotonic() + _LONGEST_S
        while True:
            with contextlib.suppress(OrchestratorError):
                await self._decide(mission)
                now = await mission.snapshot()
                if now.finished_at is not None or now.status is MissionStatus.TERMINATED:
                    return now
            if time.monotonic() > deadline or len(self.questions) > _MOST_QUESTIONS:
                await mission.cancel()
                deadline = time.monotonic() + _LONGEST_S
            await asyncio.sleep(_LOOKS_EACH_S)

    async def _decide(self, mission: MissionHandle) -> None:
        waiting = await mission.waiting()
        for card in waiting.cards:
            said = tuple(text for text in (card.unordered, *card.warnings) if text)
            self.warned[_key(card.tool, card.arguments)] = said
            await approve(mission, card)
        for question in waiting.questions:
            if question.question not in self.questions:
                self.questions.append(question.question)
                await mission.cancel()


def _key(tool: str, arguments: JsonObject) -> str:
    plain = {n: value for n, value in as_written(arguments).items() if n != "client_reference"}
    return json.dumps([tool, plain], sort_keys=True)


async def run(goals: Sequence[RealGoal], environment: dict[str, str]) -> bool:
    """Run the goals one after the other, print each, and return True if nothing wrong was done."""
    right = unwarned = more = 0
    variables = {"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000", **environment}
    with TemporaryDirectory(prefix="real-model-") as folder:
        stack = ForkedStack(
            Path(folder) / "state", (bundled_specs(),), Ports.free(), variables=variables
        )
        async with stack:
            client = await stack.client()
            for goal in goals:
                one, began = Run(goal), time.monotonic()
                result = await one.to_end(client)
                verdict = judge(goal, result)
                _print(one, result, verdict, time.monotonic() - began)
                right += verdict.is_right
                more += verdict.more
                unwarned += sum(
                    not one.warned.get(_key(fact.tool, fact.arguments)) for fact in verdict.wrong
                )
    _OUT.print(
        f"\nright: {right} of {len(goals)}; wrong consequences without a warning: {unwarned}; "
        f"consequences that nobody ordered: {more}"
    )
    return not (unwarned or more)


def _print(one: Run, result: MissionResult, verdict: Judged, took_s: float) -> None:
    mark = "[green]right[/]" if verdict.is_right else "[red]not right[/]"
    usage = result.usage
    _OUT.print(f"\n[bold]{one.goal.id}[/] {escape(one.goal.goal)}")
    _OUT.print(
        f"  {mark}, {result.status}, {took_s:.0f} s, {usage.requests} requests, "
        f"{usage.input_tokens} tokens read ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} written; {escape(result.plan_made_by.sentence)}"
    )
    for leg in result.legs:
        orders = ", ".join(called_by(leg)) or "nothing"
        _OUT.print(f"  {leg.leg_id} ({leg.status}): {escape(orders)}: {escape(leg.summary[:200])}")
    for asked, said in one.warned.items():
        _OUT.print(f"  approved {escape(asked[:300])}")
        for text in said:
            _OUT.print(f"    [yellow]{escape(text)}[/]")
    for fact in verdict.wrong:
        _OUT.print(f"  [red]wrong: {escape(_key(fact.tool, fact.arguments)[:300])}[/]")
    for question in one.questions:
        _OUT.print(f"  asked: {escape(question[:200])}")
    if result.error:
        _OUT.print(f"  {escape(result.error[:300])}")


def main() -> None:
    """Install the model, run the goals, and exit with 1 where something wrong was done."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.real_model")
    parser.add_argument("--only", nargs="+", choices=[goal.id for goal in GOALS], metavar="ID")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the model, 1.3 GB")
    parser.add_argument("--install", action="store_true", help="install it, and run nothing")
    given = parser.parse_args()
    goals = [goal for goal in GOALS if given.only is None or goal.id in given.only]
    try:
        install(given.folder.resolve())
        if given.install:
            return
        with serving(given.folder.resolve()) as environment:
            if not asyncio.run(run(goals, dict(environment))):
                sys.exit(1)
    except NotInstalled as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
