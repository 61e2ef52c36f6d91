"""Hostile text of providers reaches no terminal raw, whatever the command."""

import inspect
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.sql_catalogs import SqlCatalogs
from orchestrator.adapters.storage.sql_vault import SqlVault, VaultContents
from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.verdicts.report import ChaosReport, PairsReport
from orchestrator.cli import chaos_runs, dev_commands, output
from orchestrator.cli.main import COMMANDS, load_command
from orchestrator.client import notice_replays as notices
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.observe_report import ObserveReport
from orchestrator.client.session_handle import SessionHandle
from orchestrator.client.stores import KeptFile
from orchestrator.messages.events import AnyEvent, Cursor
from orchestrator.messages.notice import DeliveryReport
from orchestrator.messages.plan_preview import PlanPreview
from orchestrator.routing.learning import calibration, evaluation
from orchestrator.runtime.demo import DemoReport
from orchestrator.saga.outcome import ToolOutcome
from tests.commands import Ran

Run = Callable[..., Ran]
Make = Callable[[Any], Any]

_SCRIPTED = "--json"
_SERVICES = ("sandbox",)
_WORST = "the hostile text"
_DIGEST = ("--digest", "0" * 64)

CASES: dict[str, tuple[str, ...]] = {
    "agents check": ("agents.yaml", "--specs", "worst.yaml"),
    "chaos run": (),
    "codec-server": (_WORST,),
    "confirm amend": (_WORST, "k=v"),
    "confirm approve": (_WORST, *_DIGEST),
    "confirm list": (),
    "confirm notices": (),
    "confirm notices | replay": ("--replay", _WORST),
    "confirm notices | test": ("--test", _WORST),
    "confirm reject": (_WORST, "--reason", "no"),
    "confirm respond": (_WORST, "--text", "a later one"),
    "confirm reject | rule": (_WORST, "--rule", "--reason", "enough"),
    "confirm show": (_WORST,),
    "demo": (),
    "key": ("approval", "key.jwk", "--approver", _WORST, "--issuer", "example.com"),
    "key | payload": ("payload", "payload.keys", "--id", _WORST),
    "key | vault": ("vault", _WORST),
    "token": ("--for", "ci@example.com", "--scope", "read"),
    "dev": (_WORST,),
    "mcp serve": (_WORST,),
    "mission answer": (_WORST, "k=v"),
    "mission answer | pause": (_WORST, "--model", _WORST),
    "mission cancel": (_WORST,),
    "mission export": (_WORST,),
    "mission list": (),
    "mission plan": (_WORST,),
    "mission repair": (_WORST,),
    "mission rollback": (_WORST,),
    "mission show": (_WORST,),
    "mission start": (_WORST, "--wait"),
    "mission export | file": (_WORST, "--file", _WORST, "--out", "label.pdf"),
    "mission watch": (_WORST,),
    "mission watch | all": ("--once",),
    "pii": (),
    "pii | forget": (_WORST, "--forget"),
    "pii | mission": ("--forget", "--mission", _WORST),
    "pii | store": ("traveler_name", "--value", "x"),
    "proxy": ("--upstream", "https://api.example.com/v1", _WORST),
    "report observe": (),
    "rollback list": (),
    "rollback resolve": (_WORST, "retry"),
    "rollback show": (_WORST,),
    "rollback sweep": (),
    "route calibrate": ("traces.jsonl", "--out", "profile.json"),
    "route eval": (".",),
    "route eval | records": ("traces.jsonl",),
    "route text": ("order the worst article", "--explain", "--specs", "worst.yaml"),
    "sandbox": (_WORST,),
    "serve": (_WORST,),
    "settings": (),
    "tools call": ("worst_read", "--specs", "worst.yaml"),
    "tools diff": ("0" * 64, "--specs", "worst.yaml"),
    "tools discover": ("worst article", "--specs", "worst.yaml"),
    "tools lint": ("broken.yaml",),
    "tools list": ("--specs", "worst.yaml"),
    "tools suggest": ("plain.yaml",),
    "tools show": ("worst_read", "--specs", "worst.yaml"),
    "worker": (_WORST,),
    "workflow lint": ("worst.arazzo.yaml", "--specs", "worst.yaml"),
    "workflow show": ("worst.arazzo.yaml", "--specs", "worst.yaml"),
}
"""Arguments with which each command shows text of others; services show it in usage errors.

After ` | ` stands what a further case of a command is about.
"""

_SILENT = {
    "pii | store",
    "route calibrate ",
    "settings ",
    "settings --json",
    "key",
    "token ",
    "token --json",
    "pii | forget --json",
    "route eval | records ",
    "route eval | records --json",
    "tools discover --json",
    "workflow lint ",
    "workflow lint --json",
}
"""Commands that show no text of others, or its beginning alone."""


def _commands() -> Iterator[str]:
    for name in COMMANDS:
        yield from _below(name, load_command(name))


def _below(name: str, command: Any) -> Iterator[str]:
    below = getattr(command, "commands", None) or {}
    for inner, one in below.items():
        yield from _below(f"{name} {inner}", one)
    if not below:
        yield name


def test_every_command_has_a_case() -> None:
    """A new command needs one above, with which it shows text of others."""
    assert sorted(_commands()) == sorted({case.partition(" | ")[0] for case in CASES})


class Answers:
    """A client, or the handle of a mission, that answers everything with hostile values."""

    def __init__(self, kind: type, make: Make) -> None:
        self._kind = kind
        self._make = make

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._kind, name, None)
        if isinstance(method, property):
            return Answers(_given_by(method.fget), self._make)
        if not callable(method):
            return self._make(str)
        gives = _given_by(method)

        async def answer(*_: object, **__: object) -> Any:
            return Answers(gives, self._make) if gives is MissionHandle else self._make(gives)

        async def several(*_: object, **__: object) -> AsyncIterator[Any]:
            yield self._make(get_args(gives)[0])

        if inspect.isasyncgenfunction(method):
            return several
        if not inspect.iscoroutinefunction(method):
            return lambda *_, **__: Answers(gives, self._make)
        return answer


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, hostile: Make, tmp_path: Path, shop: Any) -> None:
    """Servers, files and documents of which every text is hostile."""

    def gives(kind: type) -> Callable[..., Any]:
        async def answer(*_: object, **__: object) -> Any:
            return hostile(kind)

        return answer

    for one in (output.console, output.progress):
        monkeypatch.setattr(one, "_width", 4000)  # cancelled, it is the terminal's again
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(MissionClient, "connect", _connect(hostile))
    monkeypatch.setattr(dev_commands, "_demo", gives(DemoReport))
    monkeypatch.setattr(chaos_runs, "on_a_stack", gives(ChaosReport))
    monkeypatch.setattr(chaos_runs, "try_pairs", gives(PairsReport))
    monkeypatch.setattr(ToolClient, "call", gives(ToolOutcome))
    before = Catalog.from_documents({"worst": _worst(shop, f"{hostile(str)} then")})
    monkeypatch.setattr(SqlCatalogs, "pinned_by", lambda *_: before.digest)
    monkeypatch.setattr(SqlCatalogs, "get", lambda *_: before)
    monkeypatch.setattr(notices, "notice_list", gives(notices.NoticeList))
    monkeypatch.setattr(notices, "replay", gives(notices.Replayed))
    monkeypatch.setattr(notices, "try_channel", gives(DeliveryReport))
    monkeypatch.setattr(SqlVault, "contents", lambda _: hostile(VaultContents))
    monkeypatch.setattr(evaluation, "evaluate", lambda *_, **__: hostile(evaluation.Evaluation))
    monkeypatch.setattr(calibration, "calibrate", lambda *_, **__: hostile(calibration.Calibration))
    for name in ("tools.jsonl", "queries.jsonl", "traces.jsonl"):
        (tmp_path / name).write_text("")
    agents = [{"name": hostile(str), "domains": ["of no document"]}]
    (tmp_path / "agents.yaml").write_text(yaml.safe_dump(agents))
    for name, document in (("worst", _worst), ("broken", _broken), ("plain", _plain)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document(shop, hostile(str))))
    (tmp_path / "worst.arazzo.yaml").write_text(yaml.safe_dump(_written(hostile(str))))


def _written(hostile: str) -> dict[str, Any]:
    """Return an Arazzo document with one workflow, described in hostile words."""
    reference = {"name": "client_reference", "in": "query", "value": "r-1"}
    step: dict[str, Any] = {"stepId": "read", "operationId": "worst_read", "description": hostile}
    step |= {"parameters": [reference]}
    return {
        "arazzo": "1.0.1",
        "info": {"title": hostile, "version": "1"},
        "sourceDescriptions": [{"name": "worst", "url": "worst.yaml", "type": "openapi"}],
        "workflows": [{"workflowId": "w", "summary": hostile, "steps": [step]}],
    }


_LATE = (KeptFile, ObserveReport, PlanPreview, SessionHandle)


def _given_by(method: Any) -> Any:
    """Return the type that a method answers with, also one that its module imports when it runs."""
    late = {one.__name__: one for one in (*_LATE, Cursor)}
    return get_type_hints(method, localns={**late, "AnyEvent": AnyEvent})["return"]


def _connect(make: Make) -> Callable[..., Any]:
    async def connect(*_: object) -> Answers:
        return Answers(MissionClient, make)

    return connect


def _worst(shop: Any, text: str) -> Any:
    """A document that works, with hostile text wherever its author writes prose and places."""
    paths = {
        path: {
            method: {
                **operation,
                "summary": text,
                "description": text,
                "tags": [text],
                "operationId": _NAMES.get(operation["operationId"], operation["operationId"]),
            }
            for method, operation in item.items()
        }
        for path, item in shop["paths"].items()
    }
    paths["/orders"]["get"]["parameters"][0]["description"] = text
    paths["/orders"]["post"]["x-orchet-compensation-probe"]["operationId"] = "worst_read"
    return {**shop, "info": {"title": text, "version": text}, "paths": paths}


def _plain(shop: Any, text: str) -> Any:
    document = _worst(shop, text)
    for item in document["paths"].values():
        for method, operation in item.items():
            item[method] = {k: v for k, v in operation.items() if not k.startswith("x-orchet-")}
    return document


_NAMES = {"shop_find_order": "worst_read"}


def _broken(shop: Any, text: str) -> Any:
    """A document of which the linter has much to say, each time with its author's words."""
    document = _worst(shop, text)
    book = document["paths"]["/orders"]["post"]
    book.update({"x-orchet-cancels": text, "x-orchet-requires-confirmation": text})
    book["x-orchet-pii-required"] = [text]
    document["paths"][f"/orders/{{{text}}}"] = {"get": {"operationId": text, **_TOOL}}
    return document


_TOOL = {"x-orchet-tool": True, "responses": {"204": {"description": "Done."}}}


@pytest.mark.parametrize("script", ["", _SCRIPTED])
@pytest.mark.parametrize("case", CASES)
def test_no_command_prints_what_is_hidden(
    case: str,
    script: str,
    run: Run,
    world: None,
    hostile_text: str,
    hidden: Callable[[str], list[str]],
) -> None:
    """Neither to people nor to scripts; and what looks like rich's markup stays text."""
    name = case.partition(" | ")[0]
    is_script = bool(script) and _takes_json(name)
    arguments = [hostile_text if word == _WORST else word for word in CASES[case]]
    ran = run(*name.split(), *arguments, *([script] if is_script else []))
    printed = ran.stdout + ran.stderr
    unfolded = re.sub(r"[\s│]", "", printed)

    assert ("evil.example" in unfolded) is ({case, f"{case} {script}"}.isdisjoint(_SILENT))
    assert "Traceback" not in printed
    assert hidden(printed) == []
    assert not re.search(r"^(│ )?Price 1 EUR", printed, re.MULTILINE)
    assert ("[boldred]x[/boldred]" in unfolded) is ("[link=https:" in unfolded)
    assert ("Price1EUR" in unfolded) is ("[boldred]x[/boldred]" in unfolded)
    # A service prints its JSON once it answers; this one never comes to it.
    if is_script and name not in _SERVICES:
        json.loads(ran.stdout)


def _takes_json(name: str) -> bool:
    first, *others = name.split()
    command = load_command(first)
    for inner in others:
        command = command.commands[inner]
    return any("--json" in parameter.opts for parameter in command.params)
