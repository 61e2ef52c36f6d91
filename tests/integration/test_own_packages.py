"""A user's folder may hold activities.py and workflows.py, as Temporal's own samples do."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import orchestrator

_FOLDER = str(Path(orchestrator.__file__).parents[1])


@pytest.fixture
def run(tmp_path: Path) -> "Run":
    """Runs lines of Python as a script of a folder that has both files."""
    (tmp_path / "activities.py").write_text("def greet(): ...\n")
    (tmp_path / "workflows.py").write_text("class Greeting: ...\n")
    return Run(tmp_path)


class Run:
    """Scripts of one folder."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        self.folder = folder

    def __call__(self, *lines: str) -> str:
        """What a script printed, or the last line of what it died of."""
        script = self.folder / "script.py"
        script.write_text("\n".join(lines))
        ran = subprocess.run(
            # The libraries without their .pth files: those may name another checkout of ours.
            [sys.executable, "-S", str(script)],
            cwd=self.folder,
            env={"PYTHONPATH": os.pathsep.join([_FOLDER, sysconfig.get_path("purelib")])},
            capture_output=True,
            text=True,
            check=False,
        )
        return (ran.stdout or ran.stderr).strip().splitlines()[-1]


def test_a_script_beside_such_files_can_run_a_worker(run: Run) -> None:
    """Its own files are found nowhere in our imports, nor in those by name."""
    last = run(
        "from orchestrator import run_worker",
        "import activities.boundary, workflows.leg_workflow",
        "print(workflows.__file__)",
    )

    assert last == str(Path(_FOLDER) / "workflows" / "__init__.py")


def test_a_script_that_only_starts_missions_has_its_own_files(run: Run) -> None:
    """A client needs neither package, so nothing clashes."""
    last = run(
        "from orchestrator import MissionClient",
        "from activities import greet",
        "from workflows import Greeting",
        "print(greet.__module__, Greeting.__module__)",
    )

    assert last == "activities workflows"


def test_a_file_imported_before_ours_is_named(run: Run) -> None:
    """One sentence: which file it is, and what to do."""
    last = run("import activities", "from orchestrator import run_worker")

    assert last == (
        f"ImportError: {run.folder / 'activities.py'} has the name of orchestrator's package "
        "'activities', and a process can hold only one of them: rename the file, or import it as "
        "a part of a package of your own"
    )


def test_a_file_imported_after_ours_is_named(run: Run) -> None:
    """Python would say that our package lacks the name, and leave it at that."""
    last = run("from orchestrator import run_worker", "from workflows import Greeting")

    assert f"ImportError: {run.folder / 'workflows.py'} has the name of" in last


def test_a_folder_that_is_no_package_does_not_clash(run: Run) -> None:
    """Python itself prefers a package that is further down the path."""
    (run.folder / "activities.py").unlink()
    (run.folder / "activities").mkdir()

    last = run(
        "import activities",
        "from orchestrator import run_worker",
        "print(hasattr(activities, 'greet'))",
    )

    assert last == "False"


def test_where_nothing_clashes_a_missing_name_is_just_missing(run: Run) -> None:
    """As in any package; and names that Python looks for by itself are no clash."""
    (run.folder / "workflows.py").unlink()
    last = run(
        "from orchestrator import run_worker",
        "import activities, workflows",
        "print(hasattr(workflows, 'Greeting'), hasattr(activities, '__wrapped__'))",
    )

    assert last == "False False"
