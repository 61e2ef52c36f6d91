"""Planners and embedders by name: what a name may lead to, and what is said when it does not."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import UsageError
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.defaults import default_planner, default_routers
from orchestrator.runtime.extensions import load_embedder
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import Settings

_MODULE = """
class Planner:
    def __init__(self, parts):
        self.parts = parts
    async def split_goal(self, brief, catalog, agents): ...
    async def plan_step(self, context, selection, catalog): ...
class Steps:
    def __init__(self, parts): ...
    async def plan_step(self, context, selection, catalog): ...
class Half(Planner):
    split_goal = property()
class Embedder:
    name = "letters"
    def __init__(self, settings): ...
    def embed(self, texts): ...
def nothing(_): ...
def a_class(_): return Planner
def no_arguments(): ...
def failing(_): raise LookupError("no key\\nat all")
number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `of_mine` in a folder of the path, where it is forgotten after the test."""
    (tmp_path / "of_mine.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "of_mine", raising=False)
    return tmp_path


@pytest.fixture
def install(module: Path) -> Callable[..., None]:
    """Makes a distribution of that folder, with these lines as its entry points."""

    def write(*lines: str, of: str = "of-mine") -> None:
        info = module / f"{of.replace('-', '_')}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {of}\nVersion: 1\n")
        (info / "entry_points.txt").write_text("\n".join(lines))

    return write


def _planner(named: str) -> object:
    return default_planner(Settings(planner=named), Router, ())


def test_a_module_and_a_factory_name_a_planner() -> None:
    """The factory is given what the worker has, and the planner that it would have had."""
    planner = _planner("of_mine:Planner")

    parts = planner.parts  # type: ignore[attr-defined]  # the module above
    assert parts.routers is Router
    assert parts.settings.planner == "of_mine:Planner"
    assert type(parts.default) is type(default_planner(Settings(), Router, ()))


def test_an_entry_point_names_a_planner_or_an_embedder(install: Callable[..., None]) -> None:
    """By the name that its package gives it, in a group of its own."""
    install("[orchestrator.planners]", "mine = of_mine:Planner")
    install("[orchestrator.embedders]", "letters = of_mine:Embedder", of="another")

    assert type(_planner("mine")).__module__ == "of_mine"
    assert load_embedder("letters", Settings()).name == "letters"
    assert load_embedder("of_mine:Embedder", Settings()).name == "letters"


def test_a_file_of_the_current_folder_is_found(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by an installed command, which does not look there by itself."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(module)])
    monkeypatch.chdir(module)

    assert type(_planner("of_mine:Planner")).__module__ == "of_mine"
    assert sys.path[-1] == str(module)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("yours", "'yours' is no planner: name chaining, llm, module:factory, or one that"),
        ("of mine:x", "'of mine:x' is no planner: name chaining, llm, module:factory, or one"),
        ("nowhere:make", "the planner nowhere:make cannot be loaded: No module named 'nowhere'"),
        ("a", "the planner of_nobody:make cannot be loaded: No module named 'of_nobody'"),
        ("of_mine:absent", "of_mine:absent cannot be loaded: module 'of_mine' has no attribute"),
        ("of_mine:number", "of_mine:number is no factory of a planner: it cannot be called"),
        (
            "of_mine:nothing",
            "of_mine:nothing gives 'NoneType', which is no planner: "
            "it has no split_goal and no plan_step",
        ),
        ("of_mine:a_class", "of_mine:a_class gives the class 'Planner', not one made of it"),
        ("of_mine:no_arguments", "no planner: TypeError: no_arguments() takes 0 positional arg"),
        ("of_mine:failing", "of_mine:failing gives no planner: LookupError: no key at all (/"),
        ("unfinished:make", "unfinished:make cannot be loaded: SyntaxError: '(' was never closed"),
        ("failing:make", "failing:make cannot be loaded: ZeroDivisionError: division by zero (/"),
        ("twice", "several packages have a planner 'twice': name of_mine:Half or of_mine:Planner"),
        ("of_mine:Half", "of_mine:Half gives 'Half', which is no planner: it has no split_goal"),
    ],
)
def test_what_is_no_planner_is_refused_in_a_sentence(
    module: Path, install: Callable[..., None], named: str, sentence: str
) -> None:
    """Which says what is wrong, where, and what there is."""
    (module / "unfinished.py").write_text("make = (")
    (module / "failing.py").write_text("make = 1 / 0")
    install("[orchestrator.planners]", "mine = of_mine:Planner", "a = of_nobody:make")
    install("[orchestrator.planners]", "twice = of_mine:Planner", of="another")
    install("[orchestrator.planners]", "twice = of_mine:Half", of="a-third")

    with pytest.raises(UsageError) as refused:
        _planner(named)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"planner": object()}, "run_worker is given 'object', which is no planner: it has no spl"),
        ({"embedder": Router}, "run_worker is given the class 'Router', not one made of it"),
    ],
)
async def test_what_a_program_gives_is_looked_at_before_it_serves(
    given: dict[str, Any], sentence: str
) -> None:
    """The same sentences as for what is named, before any server is asked."""
    with pytest.raises(UsageError, match=sentence):
        await run_worker(**given)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("minilm", "'minilm' is no embedder: name built-in, none, module:factory, or one that is"),
        ("https://host/v1#small", "is no embedder: name built-in, none, module:factory, or one"),
        ("of_mine:Planner", "gives 'Planner', which is no embedder: it has no name and no embed"),
    ],
)
def test_what_is_no_embedder_is_refused_in_a_sentence(
    tmp_path: Path, named: str, sentence: str
) -> None:
    """When the worker is built, not at the first request."""
    with pytest.raises(UsageError) as refused:
        default_routers(Settings(embedder=named, state_dir=tmp_path))
    assert sentence in str(refused.value)


def _planner_for(agent: AgentProfile) -> object:
    return default_planner(Settings(), Router, (agent,))


def test_an_agent_may_have_a_planner_of_its_own() -> None:
    """What decides steps is enough: goals are split by another."""
    _planner_for(AgentProfile(name="a", planner="of_mine:Steps"))

    with pytest.raises(UsageError, match="of_mine:Embedder gives 'Embedder', which is no planner"):
        _planner_for(AgentProfile(name="a", planner="of_mine:Embedder"))


@pytest.mark.parametrize("keys", [{"model": "foo:bar"}, {"fallback": ("openai:a",)}])
def test_a_worker_does_not_begin_with_a_model_that_it_cannot_ask(
    monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]
) -> None:
    """The sentence names the agent, the model and, where it is that, the variable of the key."""
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    agent = AgentProfile(name="office", planner="llm", **{"model": "test", **keys})

    with pytest.raises(UsageError, match=r"agent office: the model (foo:bar .*|.*OPENAI_API_KEY)"):
        _planner_for(agent)


def test_a_model_by_name_needs_one() -> None:
    """A worker that was told to ask a model does not plan by rules instead.

    Rules by name leave the setting of the model for missions and agents that ask for one.
    """
    rules = default_planner(Settings(planner="chaining", planner_model="test"), Router, ())

    assert isinstance(rules, PerAgentPlanner)
    with pytest.raises(UsageError, match="ORCHESTRATOR_PLANNER_MODEL"):
        default_planner(Settings(planner="llm"), Router, ())
