"""Test kit for rollback tests of users, and for the product's own.

Names are imported lazily, as pytest loads this package in every project that has the product
installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.testing.installation import QUICK as QUICK
    from orchestrator.testing.installation import Decide as Decide
    from orchestrator.testing.installation import Installation as Installation
    from orchestrator.testing.installation import Leftover as Leftover
    from orchestrator.testing.installation import MadeUpSecrets as MadeUpSecrets
    from orchestrator.testing.installation import Script as Script
    from orchestrator.testing.installation import ScriptedPlanner as ScriptedPlanner
    from orchestrator.testing.installation import approve as approve
    from orchestrator.testing.installation import assert_nothing_left as assert_nothing_left
    from orchestrator.testing.installation import eventually as eventually
    from orchestrator.testing.installation import fake_selection as fake_selection
    from orchestrator.testing.installation import find_leftovers as find_leftovers
    from orchestrator.testing.installation import installed as installed
    from orchestrator.testing.installation import installed_in_background as installed_in_background
    from orchestrator.testing.installation import run_to_end as run_to_end
    from orchestrator.testing.sample_arguments import make_arguments as make_arguments
    from orchestrator.testing.sample_arguments import make_up_person as make_up_person

_MODULES = ("sample_arguments", "installation")
"""The modules with these names, the fastest to import first."""


def __getattr__(name: str) -> Any:
    for module in () if name.startswith("_") else _MODULES:
        found = getattr(import_module(f"{__name__}.{module}"), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
