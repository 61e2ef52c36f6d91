"""What a mission left behind, by the word of the sandbox: the question of every rollback test."""

from collections import Counter
from typing import Literal, NamedTuple

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.record import JsonObject
from orchestrator.sandbox import SandboxClient


class Leftover(NamedTuple):
    """One thing that is not as it should be."""

    kind: Literal["stands", "cancelled again", "made again"]
    sentence: str


async def find_leftovers(sandbox: SandboxClient, mission_id: str) -> list[Leftover]:
    """What is not as it should be once a mission was rolled back; empty when all of it is.

    Each thing that the mission made is cancelled, and cancelled once; no call had its effect twice.
    """
    effects = await sandbox.ledger(mission_id)
    made = [e for e in effects if e["kind"] == "create"]
    cancels = Counter(_thing(e) for e in effects if e["kind"] == "cancel")
    standing = [
        Leftover("stands", f"{e['resource_type']} {e['resource_id']} of {e['operation']} stands")
        for e in made
        if e["status"] == "live"
    ]
    again = [
        Leftover("cancelled again", f"{kind} {name} was cancelled {cancels[thing]} times")
        for thing, times in Counter(_thing(e) for e in made).items()
        if cancels[thing] > times
        for _, kind, name in [thing]
    ]
    twice = [
        Leftover(
            "made again", f"the call {found['cause']} took effect {len(found['effects'])} times"
        )
        for found in await sandbox.duplicates(mission_id)
    ]
    return [*standing, *again, *twice]


async def assert_nothing_left(sandbox: SandboxClient, mission: MissionHandle) -> None:
    """Fail when a mission that is over left anything at a provider, or to an operator.

    Raises:
        AssertionError: a sentence for each thing that is not as it should be.
    """
    await mission.result()
    # Not the result: a rollback may have come after it.
    ledger = (await mission.snapshot()).ledger
    found = [left.sentence for left in await find_leftovers(sandbox, mission.mission_id)]
    found += [
        f"{o.tool} is {o.state.value} in the mission's ledger: {o.note}" for o in ledger.live()
    ]
    assert not found, f"mission {mission.mission_id} left behind: " + "; ".join(found)


def _thing(effect: JsonObject) -> tuple[str, str, str]:
    return str(effect["provider"]), str(effect["resource_type"]), str(effect["resource_id"])
