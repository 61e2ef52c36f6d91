"""The packages `activities` and `workflows`, ours even where a user's folder has files so named.

Temporal's own samples call their files that. Python looks for a top-level name in the user's folder
first, and so does Temporal's sandbox, which imports workflow modules by name once more; so a finder
before all others answers for these two names. A process can hold one module of a name: where the
user's own file is wanted too, the error says which file it is, and what to do.
"""

import sys
from collections.abc import Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NoReturn

_NAMES = ("activities", "workflows")
_FOLDER = str(Path(__file__).parents[2])


class _OwnPackages(MetaPathFinder):
    """Finds the two packages beside `orchestrator`, whatever the import path says."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, [_FOLDER]) if fullname in _NAMES else None


def _clash(name: str, file: str) -> ImportError:
    return ImportError(
        f"{file} has the name of orchestrator's package {name!r}, and a process can hold only one "
        "of them: rename the file, or import it as a part of a package of your own"
    )


def _refuse_those_imported() -> None:
    for name in _NAMES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file not in (None, str(Path(_FOLDER, name, "__init__.py"))):
            raise _clash(name, file)


def _missing(package: ModuleType, attribute: str) -> NoReturn:
    """Say why a name is not in a package of ours, when it is that of a user's file that lacks it.

    Raises:
        ImportError: a file of the user has the package's name.
        AttributeError: none has.
    """
    name = package.__name__
    others = [path for path in sys.path if str(Path(path).absolute()) != _FOLDER]
    theirs = PathFinder.find_spec(name, others)
    is_submodule = PathFinder.find_spec(f"{name}.{attribute}", package.__path__) is not None
    if theirs is None or theirs.origin is None or is_submodule or attribute.startswith("__"):
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
    raise _clash(name, theirs.origin)


_refuse_those_imported()
sys.meta_path.insert(0, _OwnPackages())

import activities  # noqa: E402 -- found by the finder alone
import workflows  # noqa: E402

for _package in (activities, workflows):
    vars(_package)["__getattr__"] = partial(_missing, _package)  # PEP 562

all_activities = activities.all_activities
ALL_WORKFLOWS = workflows.ALL_WORKFLOWS
