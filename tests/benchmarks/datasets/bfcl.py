"""Three sets of the Berkeley Function-Calling Leaderboard: single turns, users', conversations."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tests.benchmarks.datasets.form import DataSet, Row, query, tool
from tests.benchmarks.datasets.repository import Repository

_FOLDER: Final = "berkeley-function-call-leaderboard/bfcl_eval/data"
_ANSWERED: Final = ("simple_python", "multiple", "parallel_multiple")
_LIVE: Final = ("live_simple", "live_multiple", "live_parallel_multiple")
_TYPES: Final = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
}
_ANY: Final = "any"
_CLASSES: Final = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_ABOUT: Final = "Tool description: "


def make_v1(source: Repository) -> DataSet:
    """Every function of four parts as one catalog; the first of a name is kept.

    `scope` holds what the leaderboard itself offers with a request. Where nothing fits, that is
    the request's candidates.
    """
    return _single_turns(source, "bfcl_v1", (*_ANSWERED, "irrelevance"))


def make_live(source: Repository) -> DataSet:
    """What users sent with functions of their own, of several languages, each over its own few."""
    made = _single_turns(source, "bfcl_live", (*_LIVE, "live_irrelevance"))
    own = [{**row, "candidates": row.get("scope") or row["candidates"]} for row in made.queries]
    return DataSet(made.tools, [row for row in own if row["candidates"]])


def _single_turns(source: Repository, name: str, parts: Iterable[str]) -> DataSet:
    tools: dict[str, Row] = {}
    queries = []
    for part in parts:
        answers = _answers(source, part) if part in (*_ANSWERED, *_LIVE) else {}
        for case in source.json_lines(f"{_FOLDER}/BFCL_v4_{part}.json"):
            offered = [function["name"] for function in case["function"]]
            for function in case["function"]:
                tools.setdefault(function["name"], _tool(function))
            called = [key for call in answers.get(case["id"], ()) for key in call]
            more = {"scope": offered} if called else {"candidates": offered, "kind": "irrelevant"}
            queries.append(query(name, case["id"], _said(case["question"][0]), called, **more))
    return DataSet([*tools.values()], queries)


def make_multi_turn(source: Repository) -> DataSet:
    """The first turn of each conversation, and all turns as one request."""
    tools = [
        _tool(function, domain=name)
        for name, file in _CLASSES.items()
        for function in source.json_lines(f"{_FOLDER}/multi_turn_func_doc/{file}.json")
    ]
    answers = _answers(source, "multi_turn_base")
    queries = []
    for case in source.json_lines(f"{_FOLDER}/BFCL_v4_multi_turn_base.json"):
        called = [[_called(call) for call in turn] for turn in answers[case["id"]]]
        queries += list(_conversation(case, called))
    return DataSet(tools, queries)


def _conversation(case: Mapping[str, Any], called: list[list[str]]) -> Iterator[Row]:
    identity = case["id"]
    turns = [_said(turn) for turn in case["question"]]
    more = {"split_by": identity}
    if called[0]:
        yield query("bfcl_multiturn", f"{identity}-t0", turns[0], called[0], **more)
    every = [name for turn in called for name in turn]
    if len(turns) > 1 and every:
        whole = {"kind": "mission", **more}
        yield query("bfcl_multiturn", f"{identity}-all", " ".join(turns), every, **whole)


def _answers(source: Repository, part: str) -> dict[str, Any]:
    lines = source.json_lines(f"{_FOLDER}/possible_answer/BFCL_v4_{part}.json")
    return {line["id"]: line["ground_truth"] for line in lines}


def _called(call: str) -> str:
    found = re.match(r"[\w.]+", call)
    return found.group().rpartition(".")[2] if found else ""


def _said(turn: list[Mapping[str, str]]) -> str:
    return " ".join(m["content"] for m in turn if m["role"] == "user")


def _tool(function: Mapping[str, Any], domain: str | None = None) -> Row:
    description = function["description"].rpartition(_ABOUT)[2].strip()
    return tool(function["name"], description, _schema(function["parameters"]), domain=domain)


def _schema(value: Any) -> Any:
    """A schema with JSON Schema's names of types, however deep."""
    if isinstance(value, list):
        return [_schema(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: _TYPES.get(part, part) if key == "type" and isinstance(part, str) else _schema(part)
        for key, part in value.items()
        if (key, part) != ("type", _ANY)
    }
