"""The rings hold: who may import whom, and what the pure core may not touch."""

import ast
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest
from importlinter.api import read_configuration
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.structure import Structure, floors, measure

_ROOT: Final = Path(__file__).parent.parent
_PYPROJECT: Final = "pyproject.toml"
_PACKAGES: Final = ("orchestrator", "workflows", "activities")
_LINT: Final = "from importlinter.cli import lint_imports_command; lint_imports_command()"
_CONTRACTS: Final = {
    contract["id"]: contract
    for contract in read_configuration(str(_ROOT / _PYPROJECT))["contracts_options"]
}
_CORE: Final = frozenset(_CONTRACTS["core-is-pure"]["source_modules"])

# Contract, the file that gets a new line, and the line that breaks it.
_VIOLATIONS: Final = (
    ("arrows-point-inward", "orchestrator/routing/__init__.py", "import orchestrator.saga"),
    ("core-is-pure", "orchestrator/saga/ledger.py", "import httpx"),
    ("core-is-pure", "orchestrator/catalog/__init__.py", "import temporalio.workflow"),
    ("core-is-pure", "orchestrator/planning/__init__.py", "import orchestrator.settings"),
    ("workflows-do-no-io", "workflows/__init__.py", "import orchestrator.activities"),
    ("workflows-do-no-io", "orchestrator/core/record.py", "import openapi_core"),
    ("workflows-do-not-compute", "workflows/__init__.py", "import orchestrator.routing"),
    ("workflows-do-not-compute", "orchestrator/messages/names.py", "import orchestrator.catalog"),
    ("shapes-stay-shapes", "orchestrator/planning/models.py", "import orchestrator.catalog"),
    (
        "chaos-is-planned-and-judged-purely",
        "orchestrator/chaos/scenarios/plan.py",
        "import temporalio",
    ),
    (
        "chaos-is-planned-and-judged-purely",
        "orchestrator/chaos/verdicts/__init__.py",
        "import orchestrator.client",
    ),
    ("io-knows-no-workflow", "activities/__init__.py", "import orchestrator.workflows"),
    ("io-knows-no-workflow", "orchestrator/adapters/__init__.py", "import orchestrator.workflows"),
    (
        "routing-goes-one-way",
        "orchestrator/routing/sparse_index.py",
        "import orchestrator.routing.cards.capability_card",
    ),
    (
        "planners-know-only-the-protocol",
        "orchestrator/planning/llm/__init__.py",
        "import orchestrator.planning.rules.split",
    ),
    (
        "adapters-stand-alone",
        "orchestrator/adapters/http/__init__.py",
        "import orchestrator.adapters.storage.files",
    ),
    ("sandbox-is-a-witness", "orchestrator/sandbox/__init__.py", "import orchestrator.catalog"),
)


def test_the_import_contracts_hold() -> None:
    """No module of the project imports what its ring may not."""
    finished = _lint(_ROOT)

    assert finished.returncode == 0, finished.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages for all violations, in which every contract is kept."""
    folder = tmp_path_factory.mktemp("packages")
    _copy_packages(folder)
    finished = _lint(folder)
    assert finished.returncode == 0, finished.stdout
    return folder


@pytest.mark.parametrize(("contract_id", "file", "line"), _VIOLATIONS)
def test_a_planted_violation_breaks_its_contract(
    packages: Path, contract_id: str, file: str, line: str
) -> None:
    """Each contract fails on the import that it forbids, and would pass without it."""
    module = packages / file
    written = module.read_text(encoding="utf-8")
    module.write_text(f"{written}\n{line}\n", encoding="utf-8")
    try:
        finished = _lint(packages, contract_id)
    finally:
        module.write_text(written, encoding="utf-8")

    assert finished.returncode == 1
    assert "Contracts: 0 kept, 1 broken." in finished.stdout


def test_every_contract_has_a_planted_violation() -> None:
    """A contract that nobody saw fail is no contract."""
    assert {contract_id for contract_id, _, _ in _VIOLATIONS} == set(_CONTRACTS)


def test_every_import_is_a_declared_dependency() -> None:
    """What the packages import is named in pyproject.toml, not merely installed along with it."""
    declared = _declared_dependencies()
    providers = packages_distributions()

    imported = _imported_packages() - set(sys.stdlib_module_names) - set(_PACKAGES)
    undeclared = {
        name
        for name in imported
        if declared.isdisjoint(canonicalize_name(found) for found in providers.get(name, ()))
    }

    assert imported >= {"httpx", "pydantic", "temporalio"}
    assert undeclared == set()


_WITHOUT_EXTRAS: Final = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import orchestrator.cli.chaos_runs, orchestrator.runtime.worker, orchestrator.web.web_app
"""
_OF_EXTRAS: Final = (
    *("ag_ui", "agents", "anthropic", "httpx2", "langgraph", "mcp", "openai", "pydantic_ai"),
    *("slack_sdk", "standardwebhooks"),
)


def test_a_worker_needs_no_extra() -> None:
    """An installation without extras has none of their packages, and its worker loads."""
    ran = subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS, *_OF_EXTRAS],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.fixture(scope="module")
def structure() -> Structure:
    """The structure of the code, measured when a test first asks for it."""
    return measure(_ROOT)


def test_every_room_stands_on_a_floor(structure: Structure) -> None:
    """Each room is named in the layers, so that an import against them is found."""
    assert set(structure.rooms) == set(floors(_ROOT))


def test_no_room_imports_a_room_above_it(structure: Structure) -> None:
    """The layers, counted by another reading of the imports than import-linter's."""
    assert structure.upward == []


def test_no_two_files_share_a_name(structure: Structure) -> None:
    """A name leads to one file; those that convention names alike in every package apart."""
    assert structure.duplicate_files == {}


def test_the_core_reads_no_clock_and_no_environment() -> None:
    """Time and settings are passed to the core, so that a replay sees the same ones."""
    found = [
        f"{path.relative_to(_ROOT)}:{line}"
        for path in _core_files()
        for line in _impure_lines(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.environ['HOME']",
        "import os\nos.getenv('HOME')",
        "from os import environ",
        "import time",
        "from time import monotonic",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "from datetime import date\ndate.today()",
    ],
)
def test_an_impure_core_module_is_found(code: str) -> None:
    """The check for clocks and the environment sees each way to reach them."""
    assert list(_impure_lines(ast.parse(code))) != []


def test_times_that_are_values_are_allowed() -> None:
    """The core may hold, compare and add times: only asking what time it is now is refused."""
    code = "from datetime import datetime, timedelta\nend: datetime = start + timedelta(hours=1)"

    assert list(_impure_lines(ast.parse(code))) == []


def _lint(folder: Path, contract_id: str | None = None) -> subprocess.CompletedProcess[str]:
    chosen = [] if contract_id is None else ["--contract", contract_id]
    command = [sys.executable, "-c", _LINT, "--no-cache", "--no-logo", *chosen]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _copy_packages(target: Path) -> None:
    shutil.copy(_ROOT / _PYPROJECT, target)
    for package in _PACKAGES:
        shutil.copytree(
            _ROOT / package,
            target / package,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )


def _declared_dependencies() -> set[str]:
    project = tomllib.loads((_ROOT / _PYPROJECT).read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def _imported_packages() -> set[str]:
    found: set[str] = set()
    for path in (path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    found.update(alias.name.partition(".")[0] for alias in names)
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.partition(".")[0])
    return found


def _core_files() -> Iterator[Path]:
    for name in sorted(_CORE):
        module = _ROOT.joinpath(*name.split("."))
        yield from sorted(module.rglob("*.py")) if module.is_dir() else [module.with_suffix(".py")]


def _impure_lines(tree: ast.Module) -> Iterator[int]:
    """Line numbers at which a module reaches for a clock or for the environment."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(alias.name == "time" for alias in names):
                yield node.lineno
            case ast.ImportFrom(module="time"):
                yield node.lineno
            case ast.ImportFrom(module="os", names=names) if any(
                alias.name in ("environ", "getenv") for alias in names
            ):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "getenv"):
                yield node.lineno
            case ast.Attribute(
                value=ast.Name(id="datetime" | "date") | ast.Attribute(attr="datetime" | "date"),
                attr="now" | "utcnow" | "today",
            ):
                yield node.lineno
