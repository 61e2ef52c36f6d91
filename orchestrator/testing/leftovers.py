"""What a mission left behind, by the word of the sandbox: the question of every rollback test."""

from collections import Counter

from orchestrator.client import MissionHandle
from orchestrator.record import JsonObject
from orchestrator.sandbox import SandboxClient


async def find_leftovers(sandbox: SandboxClient, mission_id: str) -> list[str]:
    """What is not as it should be once a mission was undone; empty when all of it is.

    Each thing that the mission made is cancelled, and cancelled once; no call had its effect twice.
    """
    effects = await sandbox.ledger(mission_id)
    made = [e for e in effects if e["kind"] == "create"]
    cancels = Counter(_thing(e) for e in effects if e["kind"] == "cancel")
    found = [f"{_named(e)} still stands" for e in made if e["status"] == "live"]
    for thing, times in Counter(_thing(e) for e in made).items():
        if cancels[thing] > times:
            found.append(f"{thing[1]} {thing[2]} was cancelled {cancels[thing]} times")
    return found + [
        f"the call {twice['cause']} had its effect {len(twice['effects'])} times"
        for twice in await sandbox.duplicates(mission_id)
    ]


async def assert_nothing_left(sandbox: SandboxClient, mission: MissionHandle) -> None:
    """Fail when a mission that is over left anything at a provider, or to an operator.

    Raises:
        AssertionError: a sentence for each thing that is not as it should be.
    """
    result = await mission.result()
    found = await find_leftovers(sandbox, mission.mission_id)
    found += [
        f"{o.tool} is {o.state.value} in the mission's ledger: {o.note}"
        for o in result.ledger.live()
    ]
    assert not found, f"mission {mission.mission_id} left behind: " + "; ".join(found)


def _thing(effect: JsonObject) -> tuple[str, str, str]:
    return str(effect["provider"]), str(effect["resource_type"]), str(effect["resource_id"])


def _named(effect: JsonObject) -> str:
    return f"{effect['resource_type']} {effect['resource_id']} of {effect['operation']}"
