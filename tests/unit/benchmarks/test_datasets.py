"""Public sets are made from git repositories at named commits; here from tiny made-up ones."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import bench_routing_quality
from tests.benchmarks.datasets import (
    bfcl,
    manifest,
    metatool,
    nestful,
    restbench,
    sealtools,
    taubench,
)
from tests.benchmarks.datasets.__main__ import main
from tests.benchmarks.datasets.form import sample, split
from tests.benchmarks.datasets.manifest import RECIPES, Recipe
from tests.benchmarks.datasets.repository import (
    Origin,
    Repository,
    SourceMissing,
    from_mirrors,
    over_network,
)
from tests.benchmarks.drawing import markdown
from tests.benchmarks.figure import NothingToMeasure

_PEOPLE = {"operationId": "GET_search-person", "summary": "Search\nPeople", "description": ""}
_CREDITS = {
    "operationId": "GET_credits",
    "summary": "Credits",
    "description": "What a person was in.",
    "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}],
}
_PERSON_ID = {"name": "person_id", "in": "path", "required": True, "schema": {"type": "string"}}
_FILMS: Mapping[str, Any] = {
    "specs/tmdb_oas.json": {
        "paths": {
            "/search/person": {"get": _PEOPLE},
            "/person/{person_id}/credits": {"parameters": [_PERSON_ID], "get": _CREDITS},
        }
    },
    "datasets/tmdb.json": [
        {"query": "films of Ida ", "solution": [" GET /search/person", "GET /person/{id}/credits"]}
    ],
}


def _commit(folder: Path, files: Mapping[str, Any]) -> Repository:
    """A repository that holds these files: texts as they are, the rest as JSON."""
    folder.mkdir(parents=True)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        target.write_text(text, encoding="utf-8")
    git = ("git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "data")):
        subprocess.run((*git, *arguments), check=True, capture_output=True)
    head = subprocess.run((*git, "rev-parse", "HEAD"), check=True, capture_output=True, text=True)
    return Repository(folder, head.stdout.strip())


def _lines(*rows: object) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def test_an_openapi_document_and_its_requests_become_a_set(tmp_path: Path) -> None:
    made = restbench.make_tmdb(_commit(tmp_path / "films", _FILMS))
    people, credits_ = made.tools
    assert people["description"] == "Search People."
    assert credits_["parameters"]["required"] == ["person_id"]
    assert credits_["parameters"]["properties"]["page"] == {"type": "integer", "x-in": "query"}
    assert credits_["domain"] == "tmdb.person"
    (asked,) = made.queries
    assert asked["query"] == "films of Ida"
    assert asked["gold"] == ["GET_search-person", "GET_credits"]
    assert asked["kind"] == "multi"
    assert asked["split"] == split("restbench_tmdbtmdb-0")


def test_a_commit_is_found_in_any_folder_and_never_checked_out(tmp_path: Path) -> None:
    source = _commit(tmp_path / "mirrors" / "some" / "name", _FILMS)
    _commit(tmp_path / "mirrors" / "other", {"a.json": {}})
    (source.folder / "datasets" / "tmdb.json").write_text("changed since", encoding="utf-8")
    origin = Origin("https://example.org/films", source.commit, "MIT")
    found = from_mirrors(origin, tmp_path / "mirrors")
    assert found.json("datasets/tmdb.json") == _FILMS["datasets/tmdb.json"]


def test_what_is_missing_is_said_with_the_way_to_get_it(tmp_path: Path) -> None:
    source = _commit(tmp_path / "mirrors" / "films", _FILMS)
    gone = Origin("https://example.org/films", "0" * 40, "MIT")
    with pytest.raises(SourceMissing, match=r"git clone --mirror https://example\.org/films"):
        from_mirrors(gone, tmp_path / "mirrors")
    with pytest.raises(SourceMissing, match=r"specs/none\.json"):
        source.text("specs/none.json")
    nowhere = Origin((tmp_path / "no" / "where").as_uri(), "0" * 40, "MIT")
    with pytest.raises(SourceMissing, match="--mirrors"):
        over_network(nowhere, tmp_path / "clones")


def test_without_mirrors_the_repository_is_cloned_once(tmp_path: Path) -> None:
    source = _commit(tmp_path / "owner" / "films", _FILMS)
    origin = Origin(source.folder.as_uri(), source.commit, "MIT")
    for _ in range(2):
        clone = over_network(origin, tmp_path / "clones")
        assert clone.json("datasets/tmdb.json") == _FILMS["datasets/tmdb.json"]
    assert clone.folder == tmp_path / "clones" / "owner+films"


def test_made_twice_a_set_is_the_same_to_the_byte_and_a_changed_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(manifest, "DIGESTS", tmp_path / "digests.json")
    source = _commit(tmp_path / "mirrors" / "films", _FILMS)
    origin = Origin("https://example.org/films", source.commit, "MIT")
    recipes = {"films": Recipe(origin, restbench.make_tmdb)}
    mirrors = ("--mirrors", str(tmp_path / "mirrors"))
    assert main([str(tmp_path / "one"), *mirrors, "--pin"], recipes) == 0
    assert main([str(tmp_path / "two"), *mirrors], recipes) == 0
    assert "films: made, as written down" in capsys.readouterr().out
    for name in ("tools.jsonl", "queries.jsonl"):
        one, two = (tmp_path / run / "films" / name for run in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    (tmp_path / "digests.json").write_text('{"films": {}}', encoding="utf-8")
    assert main([str(tmp_path / "two"), *mirrors], recipes) == 1
    assert "otherwise than what is written down" in capsys.readouterr().out


def test_every_set_names_a_commit_a_licence_and_what_comes_out() -> None:
    for name, recipe in RECIPES.items():
        assert len(recipe.origin.commit) == 40
        assert recipe.origin.licence
        assert set(manifest.pinned()[name]) == {"tools.jsonl", "queries.jsonl"}


def test_calls_name_the_tools_whatever_else_stands_there(tmp_path: Path) -> None:
    data = bfcl._FOLDER
    function = {
        "name": "ls",
        "description": "This tool belongs to files. Tool description: List files. ",
        "parameters": {"type": "dict", "properties": {"a": {"type": "any"}}, "required": []},
    }
    turns = [[{"role": "user", "content": "list"}], [{"role": "user", "content": "again "}]]
    files = {f"{data}/multi_turn_func_doc/{file}.json": _lines() for file in bfcl._CLASSES.values()}
    files |= {
        f"{data}/multi_turn_func_doc/gorilla_file_system.json": _lines(function),
        f"{data}/BFCL_v4_multi_turn_base.json": _lines({"id": "c0", "question": turns}),
        f"{data}/possible_answer/BFCL_v4_multi_turn_base.json": _lines(
            {"id": "c0", "ground_truth": [["ls(a=True)"], ["ls()"]]}
        ),
    }
    made = bfcl.make_multi_turn(_commit(tmp_path / "files", files))
    (tool,) = made.tools
    assert tool["description"] == "List files."
    assert tool["parameters"] == {"type": "object", "properties": {"a": {}}, "required": []}
    first, whole = made.queries
    assert (first["query"], whole["query"]) == ("list", "list again")
    assert (first["gold"], whole["kind"]) == (["ls"], "mission")
    assert first["split"] == whole["split"]


def test_requests_over_tools_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    files: dict[str, Any] = {}
    for _, path, _ in nestful._PARTS:
        files |= {f"data/{path}-spec.json": [], f"data/{path}-data.json": []}
    spec = {"name": "find", "description": "Find.", "query_parameters": {"q": {"type": "String"}}}
    calls = [{"name": "find"}, {"name": "var_result"}]
    files["data/executable/executable-spec.json"] = [spec]
    files["data/executable/executable-data.json"] = [
        {"input": "find it", "output": calls},
        {"input": "lose it", "output": [{"name": "lose"}]},
    ]
    made = nestful.make_nestful(_commit(tmp_path / "nested", files))
    assert [(q["id"], q["gold"]) for q in made.queries] == [("executable-0", ["find"])]
    assert made.tools[0]["parameters"]["properties"] == {"q": {"type": "string"}}


def test_the_development_part_gives_examples(tmp_path: Path) -> None:
    function = {
        "api_name": "find",
        "api_description": "Find.",
        "field": "Things/Lost",
        "parameters": {"q": {"type": "str", "description": "what", "example": "x"}},
        "required": ["q"],
    }
    case = {"id": "e-0", "query": "find my hat ", "calling": [{"api": "find"}]}
    folder = sealtools._FOLDER
    files = {
        f"{folder}/tool.jsonl": _lines(function),
        f"{folder}/dev.jsonl": _lines({**case, "query": "find my coat"}),
        f"{folder}/test_in_domain.jsonl": _lines(case),
        f"{folder}/test_out_domain.jsonl": "",
    }
    made = sealtools.make_sealtools(_commit(tmp_path / "seal", files))
    assert made.tools[0]["examples"] == ["find my coat"]
    assert made.queries[0]["query"] == "find my hat"


def test_no_example_is_asked(tmp_path: Path) -> None:
    asked = [f"request {number}" for number in range(12)]
    offered = "1. tool name: other, tool description: Not it.\n"
    files = {
        "dataset/data/all_clean_data.csv": "Query,Tool\n" + "".join(f"{q},it\n" for q in asked),
        "dataset/plugin_des.json": {"it": "Does it. ", "other": "Does not."},
        "dataset/data/multi_tool_query_golden.json": [{"query": "both", "tool": ["it", "other"]}],
        "dataset/tmp_dataset/Task2-Subtask3.json": [
            {"query": "gone", "tool": "it", "action_prompt": offered}
        ],
        "dataset/tmp_dataset/Task1.json": [
            {"query": "why", "label": "negative"},
            {"query": "do it", "label": "positive", "tool": "it"},
        ],
    }
    made = metatool.make_metatool(_commit(tmp_path / "meta", files))
    examples = made.tools[0]["examples"]
    singles = [q["query"] for q in made.queries if q["kind"] == "single"]
    assert sorted([*examples, *singles]) == sorted(asked)
    unfit, none = made.queries[-2:]
    assert (unfit["candidates"], unfit["gold"]) == (["other"], [])
    assert (none["query"], none["kind"]) == ("why", "no_tool")


def test_tools_and_tasks_are_read_from_python_that_never_runs(tmp_path: Path) -> None:
    tool = """
raise SystemExit("it ran")
class Cancel:
    def get_info():
        return {"type": "function", "function": {
            "name": "cancel", "description": "Cancel.", "parameters": {"type": "object"}}}
"""
    task = "TASKS = [Task(instruction='end\\n it', actions=[Action(name='cancel', kwargs={})])]"
    files: dict[str, Any] = {}
    for service in ("airline", "retail"):
        folder = f"tau_bench/envs/{service}"
        files |= {
            f"{folder}/tools/__init__.py": "from .cancel import Cancel\nfrom .think import Think\n",
            f"{folder}/tools/cancel.py": tool,
            f"{folder}/tasks_test.py": task,
        }
    made = taubench.make_tau_bench(_commit(tmp_path / "tau", files))
    assert [(t["name"], t["domain"]) for t in made.tools] == [("cancel", "airline")]
    assert [(q["query"], q["gold"]) for q in made.queries] == [("end it", ["cancel"])] * 2
    assert {q["split"] for q in made.held_out().queries} == {"eval"}


def test_users_requests_go_over_what_they_brought_along(tmp_path: Path) -> None:
    data = bfcl._FOLDER
    function = {"name": "f", "description": "F.", "parameters": {"type": "dict", "properties": {}}}
    asked = {"question": [[{"role": "user", "content": "do f"}]], "function": [function]}
    files: dict[str, Any] = {}
    for part in bfcl._LIVE:
        files |= {
            f"{data}/BFCL_v4_{part}.json": "",
            f"{data}/possible_answer/BFCL_v4_{part}.json": "",
        }
    files |= {
        f"{data}/BFCL_v4_live_simple.json": _lines({"id": "l0", **asked}),
        f"{data}/possible_answer/BFCL_v4_live_simple.json": _lines(
            {"id": "l0", "ground_truth": [{"f": {}}]}
        ),
        f"{data}/BFCL_v4_live_irrelevance.json": _lines(
            {"id": "i0", **asked}, {"id": "i1", **asked, "function": []}
        ),
    }
    made = bfcl.make_live(_commit(tmp_path / "live", files))
    assert [(q["id"], q["gold"], q["candidates"]) for q in made.queries] == [
        ("l0", ["f"], ["f"]),
        ("i0", [], ["f"]),
    ]


def test_a_sample_does_not_depend_on_the_order_it_is_drawn_from() -> None:
    items = [f"item {number}" for number in range(20)]
    assert sample(items, 5, key=str) == sample(items[::-1], 5, key=str)


def test_a_benchmark_without_sets_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bench_routing_quality.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(NothingToMeasure, match=r"python -m tests\.benchmarks\.datasets"):
        bench_routing_quality.run()


def test_sets_are_measured_beside_baselines_and_held_out_ones_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [{"name": n, "description": d} for n, d in (("cat", "Feed a cat."), ("sum", "Add."))]
    asked = {"query": "feed the cat", "gold": ["cat"], "split": "eval"}
    for name in ("pets", "tau_bench"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.jsonl").write_text(_lines(*tools), encoding="utf-8")
        (tmp_path / name / "queries.jsonl").write_text(_lines(asked), encoding="utf-8")
    monkeypatch.setenv(bench_routing_quality.FOLDER_VARIABLE, str(tmp_path))
    figures = bench_routing_quality.run()
    assert [*dict.fromkeys(f.row[0] for f in figures)] == [
        "pets",
        "mean",
        "tau_bench",
        "mean, held out",
    ]
    assert len({f.row[1] for f in figures}) == 5
    assert {f.value for f in figures if f.name == "R@1"} == {1.0}
    table = markdown(figures).splitlines()
    assert table[0].startswith("|  |  | R@1 | R@3 | R@5 | nDCG@5 | all forwarded | tools |")
    assert len(table) == 2 + 4 * 5
