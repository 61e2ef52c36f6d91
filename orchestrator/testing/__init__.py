"""Ships with the product for tests: its own, and those that users write of their rollback.

The names are imported when they are first used: pytest loads this package in every run of every
project that has the product installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.testing.driving import Decide, approve, eventually, run_to_end
    from orchestrator.testing.fakes import (
        fake_leg,
        fake_obligation,
        fake_selection,
        fake_tool,
        states_of,
    )
    from orchestrator.testing.installation import (
        QUICK,
        Installation,
        installed,
        installed_in_background,
    )
    from orchestrator.testing.leftovers import Leftover, assert_nothing_left, find_leftovers
    from orchestrator.testing.memory import MadeUpSecrets, MemoryGrants, MemoryPii, MemorySecrets
    from orchestrator.testing.sample_arguments import make_arguments, make_up_person
    from orchestrator.testing.script import Script, ScriptedPlanner
    from orchestrator.testing.world import FakeCall, FakeWorld, Hold

_HOMES = {
    "sample_arguments": ("make_arguments", "make_up_person"),
    "driving": ("Decide", "approve", "eventually", "run_to_end"),
    "fakes": ("fake_leg", "fake_obligation", "fake_selection", "fake_tool", "states_of"),
    "installation": ("QUICK", "Installation", "installed", "installed_in_background"),
    "leftovers": ("Leftover", "assert_nothing_left", "find_leftovers"),
    "memory": ("MadeUpSecrets", "MemoryGrants", "MemoryPii", "MemorySecrets"),
    "script": ("Script", "ScriptedPlanner"),
    "world": ("FakeCall", "FakeWorld", "Hold"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "QUICK",
    "Decide",
    "FakeCall",
    "FakeWorld",
    "Hold",
    "Installation",
    "Leftover",
    "MadeUpSecrets",
    "MemoryGrants",
    "MemoryPii",
    "MemorySecrets",
    "Script",
    "ScriptedPlanner",
    "approve",
    "assert_nothing_left",
    "eventually",
    "fake_leg",
    "fake_obligation",
    "fake_selection",
    "fake_tool",
    "find_leftovers",
    "installed",
    "installed_in_background",
    "make_arguments",
    "make_up_person",
    "run_to_end",
    "states_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
