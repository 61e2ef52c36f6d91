"""The kit finds what it is for: each deliberate breach of the invariant fails its verdict."""

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest

from orchestrator.chaos.chaos_run import RunOptions, run_scripts
from orchestrator.chaos.scenarios.plan import Interruption, InterruptionMoment, MissionScript
from orchestrator.chaos.verdicts.report import ChaosReport
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import FaultRule

RENTAL = "Rent a car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar"
OPTIONS = RunOptions(seed=0, faults=frozenset(), workers=0, settle_within_s=60)
ONE_TRY = MissionPolicy(call_timeout=timedelta(seconds=1), call_attempts=1)
MUTANTS = ("ledger-after-call", "cancel-without-key", "prompt-in-rollback")

Write = Callable[[str], MissionScript]


def loses_its_second_booking(mission_id: str) -> MissionScript:
    """A mission that gives the car back, for its calendar refuses the event."""
    refusal = FaultRule(
        operation_id="calendar_create_event",
        kind="status_before",
        status=409,
        request_prefix=f"{mission_id}.",
    )
    return MissionScript(
        index=0, mission_id=mission_id, goal=RENTAL, policy=ONE_TRY, rules=(refusal,)
    )


def dies_while_it_books(mission_id: str) -> MissionScript:
    """A mission whose leg is terminated while the car's booking, its second request, is out."""
    moment = InterruptionMoment(request=2)
    hold = moment.hold(mission_id)
    assert hold is not None
    return MissionScript(
        index=1,
        mission_id=mission_id,
        goal=RENTAL,
        policy=ONE_TRY,
        rules=(hold,),
        interruptions=(Interruption(kind="terminate", part="leg", moment=moment),),
    )


async def verdict(stack: Stack, *scripts: MissionScript) -> ChaosReport:
    """The kit's verdict on missions that workers of this stack's task queue run."""

    def reproduce(index: int) -> str:
        return f"--only {index}"

    return await run_scripts(stack, OPTIONS, scripts, reproduce, on_end=lambda _: None)


@pytest.fixture(scope="module")
async def mutants(stack: Stack) -> AsyncIterator[dict[str, Stack]]:
    """A worker with each mistake, on a task queue of its own."""
    own = {name: dataclasses.replace(stack, task_queue=name) for name in MUTANTS}
    command = [sys.executable, "-m", "tests.chaos.mutant_worker"]
    await asyncio.gather(
        *(theirs.start_worker(name, command=[*command, name]) for name, theirs in own.items())
    )
    yield own
    await asyncio.gather(*(stack.kill(name, gently=True) for name in MUTANTS))


@pytest.mark.parametrize(
    ("mutant", "write", "invariant"),
    [
        ("ledger-after-call", dies_while_it_books, "orphan"),
        ("cancel-without-key", loses_its_second_booking, "keyless"),
        ("prompt-in-rollback", loses_its_second_booking, "prompt"),
    ],
)
async def test_a_broken_orchestrator_fails_the_verdict(
    mutant: str, write: Write, invariant: str, mutants: dict[str, Stack]
) -> None:
    """A worker with the mistake breaks exactly the invariant that the mistake is about."""
    script = write(mutant)
    report = await verdict(mutants[mutant], script)

    assert not report.ok
    assert {breach.invariant for breach in report.breaches} == {invariant}
    assert report.reproduce == f"--only {script.index}"


async def test_the_same_missions_pass_without_the_mistakes(stack: Stack) -> None:
    """What fails above is the mistake, not the trouble."""
    report = await verdict(stack, loses_its_second_booking("lost"), dies_while_it_books("dead"))

    assert report.breaches == ()
    assert report.statuses == {"rolled_back": 2}
