"""The wheel owns one import name: folders named workflows and activities stay everybody's own."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FILES = {
    "activities/__init__.py": "",
    "activities/greeting.py": "def greet() -> str: return 'theirs'\n",
    "workflows/__init__.py": "from activities.greeting import greet\n",
    "specs/__init__.py": "OWN = True\n",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, as a release is built."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", str(folder)]
    subprocess.run([*command, str(_ROOT)], check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_has_one_package(wheel: Path) -> None:
    """Beside its metadata; the linked folders are in it as folders, whole."""
    with zipfile.ZipFile(wheel) as packed:
        files = set(packed.namelist())

    tops = {name.partition("/")[0] for name in files}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"orchestrator"}
    for folder in ("workflows", "activities", "specs"):
        ours = {
            f"orchestrator/{path.relative_to(_ROOT)}"
            for path in (_ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert ours
        assert ours <= files


def test_a_project_keeps_its_own_folders_beside_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """Its workflows, activities and specs are imported as its own, before and after ours."""
    installed, project = tmp_path / "installed", tmp_path / "project"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(installed)
    for name, text in _FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "script.py").write_text(
        "import workflows\n"
        "from orchestrator import Catalog, run_worker\n"
        "import orchestrator.workflows, orchestrator.activities, specs\n"
        "from orchestrator.settings import bundled_specs\n"
        "from activities.greeting import greet\n"
        "assert workflows.greet is greet and specs.OWN\n"
        "assert len(Catalog.load(bundled_specs()).tools) > 1\n"
        "print(greet(), orchestrator.workflows.__file__)\n"
    )

    ran = subprocess.run(
        # The libraries without their .pth files, which name this checkout.
        [sys.executable, "-S", "script.py"],
        cwd=project,
        env={"PYTHONPATH": os.pathsep.join([str(installed), sysconfig.get_path("purelib")])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    ours = installed / "orchestrator/workflows/__init__.py"
    assert ran.stdout.strip() == f"theirs {ours}"
