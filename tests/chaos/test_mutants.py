"""The kit finds what it is for: each deliberate mistake fails its verdict, nothing else does."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from importlib import import_module
from inspect import getsource
from itertools import chain

import pytest

from orchestrator.chaos.chaos_run import RunJudge, RunOptions, Seen
from orchestrator.chaos.conductor import Approver, Conductor, Missions
from orchestrator.chaos.crew import VaultChanges
from orchestrator.chaos.scenarios.plan import Interruption, InterruptionMoment, MissionScript
from orchestrator.chaos.verdicts.invariants import Account, Invariant
from orchestrator.chaos.verdicts.report import ChaosReport
from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.demo import LEAVING, RETURNING
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import FaultRule, SandboxClient
from tests.chaos.mutant_worker import MUTANTS

RENTAL = f"Rent a car in Lisbon from {LEAVING} to {RETURNING} and add it to my calendar"
OPTIONS = RunOptions(seed=0, faults=frozenset(), late_s=2.0)
ONE_TRY = MissionPolicy(call_timeout=timedelta(seconds=3), call_attempts=1)
TWO_TRIES = MissionPolicy(call_timeout=timedelta(seconds=3), call_attempts=2)
PATIENT = MissionPolicy(call_timeout=timedelta(seconds=100), call_attempts=2)

CAR, RETURN, EVENT = "car_book_offer", "car_cancel_booking", "calendar_create_event"
_PAUSING = ("late-", "twice-")

Write = Callable[[str], MissionScript]

pytestmark = pytest.mark.timeout(300)
"""Of all missions, which run when the first test asks for the verdict on them."""


def mission(mission_id: str, policy: MissionPolicy, *rules: FaultRule) -> MissionScript:
    """A rental, and what goes wrong with it at its providers."""
    theirs = {"request_prefix": f"{mission_id}."}
    return MissionScript(
        index=0,
        mission_id=mission_id,
        goal=RENTAL,
        policy=policy,
        rules=tuple(rule.model_copy(update=theirs) for rule in rules),
    )


REFUSED = FaultRule(operation_id=EVENT, kind="status_before", status=409)
"""The calendar refuses the event, and the car is given back."""


def is_undisturbed(mission_id: str) -> MissionScript:
    """A mission that succeeds."""
    return mission(mission_id, ONE_TRY)


def loses_its_second_booking(mission_id: str) -> MissionScript:
    """A mission that gives the car back."""
    return mission(mission_id, ONE_TRY, REFUSED)


def loses_the_answer_of_a_cancel(mission_id: str) -> MissionScript:
    """A mission whose car is given back, and the answer to that is lost once."""
    lost = FaultRule(operation_id=RETURN, kind="drop_after", times=1)
    return mission(mission_id, ONE_TRY, REFUSED, lost)


def is_answered_with_a_page(mission_id: str) -> MissionScript:
    """A mission whose car is booked, as the status says; nothing was done, as the page does not."""
    page = FaultRule(operation_id=CAR, kind="breach_before", breach="html")
    return mission(mission_id, ONE_TRY, page)


def asks_a_gateway_about_a_lost_booking(mission_id: str) -> MissionScript:
    """A mission whose car is booked and its answer lost; the probe meets a gateway's 404 once."""
    lost = FaultRule(operation_id=CAR, kind="drop_after")
    page = FaultRule(kind="gateway", status=404, meets="probe", times=1)
    return mission(mission_id, ONE_TRY, lost, page)


def is_refused_after_a_lost_success(mission_id: str) -> MissionScript:
    """A mission whose car is booked and its answer lost; the second attempt is refused with 422."""
    refusal = FaultRule(operation_id=CAR, kind="refuse_repeat", status=422)
    return mission(mission_id, TWO_TRIES, refusal)


def is_overcharged(mission_id: str) -> MissionScript:
    """A mission whose car costs a quarter more than its card says."""
    return mission(mission_id, ONE_TRY, FaultRule(operation_id=CAR, kind="overcharge"))


def dies_while_it_books(mission_id: str) -> MissionScript:
    """A mission that is terminated while the car's booking, its second request, is out."""
    moment = InterruptionMoment(request=2)
    hold = moment.hold(mission_id)
    assert hold is not None
    dying = Interruption(kind="terminate", part="mission", moment=moment)
    return mission(mission_id, ONE_TRY, hold).model_copy(
        update={"index": 1, "interruptions": (dying,)}
    )


def pauses_before_its_last_booking(mission_id: str) -> MissionScript:
    """A mission that is paused before it sends the event, and woken after its rollback."""
    return mission(f"late-{mission_id}", ONE_TRY)


def pauses_before_its_first_booking(mission_id: str) -> MissionScript:
    """A mission that is paused before it books the car: its next attempt does, and it is lost."""
    return mission(f"twice-{mission_id}", PATIENT, REFUSED)


BROKEN: dict[str, tuple[Write, set[Invariant]]] = {
    # The history of a workflow with a mistake is read by code without it, which waits for the rest.
    "ledger-after-call": (dies_while_it_books, {"stuck"}),
    "cancel-without-key": (loses_its_second_booking, {"keyless"}),
    "prompt-in-rollback": (loses_its_second_booking, {"prompt"}),
    "parks-at-once": (loses_the_answer_of_a_cancel, {"stuck"}),
    "sends-other-arguments": (is_undisturbed, {"unapproved"}),
    "believes-a-breach": (is_answered_with_a_page, {"phantom", "unserved"}),
    "believes-any-404-of-a-probe": (asks_a_gateway_about_a_lost_booking, {"orphan"}),
    "believes-a-422-after-an-unclear-attempt": (is_refused_after_a_lost_success, {"orphan"}),
    "ignores-an-overcharge": (is_overcharged, {"overcharge"}),
    "paused-past-its-deadline": (pauses_before_its_last_booking, {"orphan"}),
    "paused-with-a-used-grant": (pauses_before_its_first_booking, {"late"}),
}
"""Of each mistake, in which mission it shows, and what of that mission breaks."""


def _scripts() -> dict[str, list[MissionScript]]:
    """By task queue: each mistake's own mission, and all of them where there is no mistake."""
    written = {mutant: [write(mutant)] for mutant, (write, _) in BROKEN.items()}
    writes = dict.fromkeys(write for write, _ in BROKEN.values())
    right = {write: write(f"right-{number}") for number, write in enumerate(writes)}
    paused = [script for script in right.values() if script.mission_id.startswith(_PAUSING)]
    plain = [script for script in right.values() if script not in paused]
    return {**written, "paused": paused, "orchestrator": plain}


@pytest.fixture(scope="module")
async def report(stack: Stack) -> AsyncIterator[ChaosReport]:
    """The kit's verdict on all of these missions, each run by the workers of its task queue."""
    scripts = _scripts()
    mutants = [queue for queue in scripts if queue != stack.task_queue]
    command = [sys.executable, "-m", "tests.chaos.mutant_worker", *mutants]
    await stack.start_worker("mutants", command=command)
    while not all((stack.folder / f"{mutant}.polls").exists() for mutant in mutants):  # noqa: ASYNC110  # polled
        await asyncio.sleep(0.1)
    yield await _verdict(stack, scripts)
    await stack.kill("mutants", gently=True)


async def _verdict(stack: Stack, scripts: dict[str, list[MissionScript]]) -> ChaosReport:
    case = RunJudge(stack, OPTIONS, lambda index: f"--only {index}")
    every = [script for theirs in scripts.values() for script in theirs]
    client = await stack.client()
    async with SandboxClient(stack.sandbox_url, timeout_s=60.0) as sandbox:
        before = {str(effect["request_id"]).partition(".")[0] for effect in await sandbox.ledger()}
        await sandbox.set_faults([rule for script in every for rule in script.rules])

        async def play(queue: str) -> list[Account]:
            def wake(told: Account) -> None:
                (stack.folder / told.mission_id).touch()

            settings = stack.settings.model_copy(update={"task_queue": queue})
            theirs = MissionClient(client.temporal, settings)
            conductor = Conductor(Missions(theirs, sandbox), settle_within_s=120, on_end=wake)
            return await conductor.play_all(scripts[queue], at_once=4)

        async with Approver(client, every) as approver:
            told = await asyncio.gather(*(play(queue) for queue in scripts))
        seen = Seen(tuple(approver.approved), VaultChanges(stack).values, frozenset(before))
        return await case.verdict(
            sandbox, every, [*chain(*told)], fired=Counter(), planned=Counter(), seen=seen
        )


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mistake_can_still_be_made(mutant: str) -> None:
    """The text that it changes is there, once: told before any worker is started."""
    for part in MUTANTS[mutant].parts:
        module = import_module(part.module)

        assert part.made_in(getsource(module)) != getsource(module)


@pytest.mark.long
@pytest.mark.parametrize("mutant", BROKEN)
def test_a_broken_orchestrator_fails_the_verdict(mutant: str, report: ChaosReport) -> None:
    """A worker with the mistake breaks exactly the invariants that the mistake is about."""
    write, invariants = BROKEN[mutant]
    mission_id = write(mutant).mission_id
    found = {b.invariant for b in report.breaches if b.mission_id == mission_id}

    assert found == invariants
    assert not report.ok
    assert report.reproduce == "--only 0"


@pytest.mark.long
def test_the_same_missions_pass_without_the_mistakes(report: ChaosReport) -> None:
    """What fails above is the mistake, not the trouble."""
    assert [breach for breach in report.breaches if "right-" in breach.mission_id] == []
