"""Ships with the product for tests: its own, and those that users write of their rollback.

The names are imported when they are first used: pytest loads this package in every run of every
project that has the product installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.testing.driving import Decide as Decide
    from orchestrator.testing.driving import approve as approve
    from orchestrator.testing.driving import eventually as eventually
    from orchestrator.testing.driving import run_to_end as run_to_end
    from orchestrator.testing.fakes import fake_leg as fake_leg
    from orchestrator.testing.fakes import fake_obligation as fake_obligation
    from orchestrator.testing.fakes import fake_selection as fake_selection
    from orchestrator.testing.fakes import fake_tool as fake_tool
    from orchestrator.testing.fakes import states_of as states_of
    from orchestrator.testing.installation import QUICK as QUICK
    from orchestrator.testing.installation import Installation as Installation
    from orchestrator.testing.installation import installed as installed
    from orchestrator.testing.installation import installed_in_background as installed_in_background
    from orchestrator.testing.leftovers import Leftover as Leftover
    from orchestrator.testing.leftovers import assert_nothing_left as assert_nothing_left
    from orchestrator.testing.leftovers import find_leftovers as find_leftovers
    from orchestrator.testing.memory import MadeUpSecrets as MadeUpSecrets
    from orchestrator.testing.memory import MemoryCatalogs as MemoryCatalogs
    from orchestrator.testing.memory import MemoryGrants as MemoryGrants
    from orchestrator.testing.memory import MemoryPii as MemoryPii
    from orchestrator.testing.memory import MemorySecrets as MemorySecrets
    from orchestrator.testing.memory import MemoryTraces as MemoryTraces
    from orchestrator.testing.memory import TrustedOrigins as TrustedOrigins
    from orchestrator.testing.sample_arguments import make_arguments as make_arguments
    from orchestrator.testing.sample_arguments import make_up_person as make_up_person
    from orchestrator.testing.script import Script as Script
    from orchestrator.testing.script import ScriptedPlanner as ScriptedPlanner
    from orchestrator.testing.world import FakeCall as FakeCall
    from orchestrator.testing.world import FakeWorld as FakeWorld
    from orchestrator.testing.world import Hold as Hold

_HOMES = {
    "sample_arguments": ("make_arguments", "make_up_person"),
    "driving": ("Decide", "approve", "eventually", "run_to_end"),
    "fakes": ("fake_leg", "fake_obligation", "fake_selection", "fake_tool", "states_of"),
    "installation": ("QUICK", "Installation", "installed", "installed_in_background"),
    "leftovers": ("Leftover", "assert_nothing_left", "find_leftovers"),
    "memory": (
        "MadeUpSecrets",
        "MemoryCatalogs",
        "MemoryGrants",
        "MemoryPii",
        "MemorySecrets",
        "MemoryTraces",
        "TrustedOrigins",
    ),
    "script": ("Script", "ScriptedPlanner"),
    "world": ("FakeCall", "FakeWorld", "Hold"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
