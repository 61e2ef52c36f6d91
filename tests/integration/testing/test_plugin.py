"""The plugin is light, says its seed, and can be loaded twice."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NAME = "orchestrator.testing.plugin"
HEAVY = ("temporalio", "httpx", "pydantic", "starlette", "numpy", "yaml")


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Pytest in a folder, with this plugin and no other."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", NAME, *options]
    return subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_loading_it_imports_nothing_of_weight() -> None:
    """Runs that do not use it do not pay for it."""
    code = f"import sys, {NAME}; print(*sorted({{n.partition('.')[0] for n in sys.modules}}))"

    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()

    assert "orchestrator" in printed
    assert set(HEAVY) & set(printed) == set()


def test_the_entry_point_is_named_like_the_module() -> None:
    """So that a run whose configuration names the plugin as well loads it once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {NAME: NAME}


def test_the_seed_stands_in_the_header(tmp_path: Path) -> None:
    """A seed that was given is shown, and reaches the tests."""
    (tmp_path / "test_it.py").write_text("def test_it(chaos_seed):\n    assert chaos_seed == 7\n")

    ran = run_pytest(tmp_path, "--chaos-seed", "7", "-p", NAME)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "chaos seed: 7" in ran.stdout


def test_a_failure_says_how_to_run_it_again(tmp_path: Path) -> None:
    """A drawn seed that a failing test used is told; other runs are told nothing of it."""
    (tmp_path / "test_it.py").write_text("def test_it(chaos_seed):\n    assert chaos_seed < 0\n")
    (tmp_path / "test_other.py").write_text("def test_other():\n    assert False\n")

    used = run_pytest(tmp_path, "test_it.py")
    unused = run_pytest(tmp_path, "test_other.py")

    assert "repeat with the same chaos: --chaos-seed " in used.stdout
    assert "chaos" not in unused.stdout.replace(str(tmp_path), "")


def test_documents_that_nobody_named_are_asked_for(tmp_path: Path) -> None:
    """A test without documents is told where to name them."""
    (tmp_path / "test_it.py").write_text("def test_it(orchestrator_stack):\n    pass\n")

    ran = run_pytest(tmp_path)

    assert ran.returncode != 0
    assert "no documents: set orchestrator_specs" in ran.stdout


@pytest.mark.parametrize("name", ["Installation", "approve", "eventually", "run_to_end"])
def test_names_are_found_where_they_were(name: str) -> None:
    """What tests import from the package is there, and nothing that is not."""
    import orchestrator.testing as testing

    assert getattr(testing, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = testing.nothing_of_the_kind


def test_a_project_with_files_named_like_our_packages_has_its_own(tmp_path: Path) -> None:
    """Tests of a Temporal project import its activities.py and workflows.py as before."""
    (tmp_path / "activities.py").write_text("def greet(): return 'hello'\n")
    (tmp_path / "workflows.py").write_text("from activities import greet\n")
    (tmp_path / "test_it.py").write_text(
        "from workflows import greet\ndef test_it(chaos_seed):\n    assert greet() == 'hello'\n"
    )

    ran = run_pytest(tmp_path)

    assert ran.returncode == 0, ran.stdout + ran.stderr
