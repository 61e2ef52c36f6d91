"""Values, limits, planners and documents of a command line, and refusals in one sentence."""

import json
import warnings
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.cli.mission_requests import read_limits, request_of
from orchestrator.cli.options import choose, model_variables, read_json
from orchestrator.cli.service_commands import note_doubtful_settings
from orchestrator.cli.tools_commands import read_inputs
from orchestrator.core.errors import OverlayWarning, UsageError
from orchestrator.core.limits import Limits
from orchestrator.settings import Settings
from tests.commands import Ran


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("-1.5e3", -1500.0),
        ('["a"]', ["a"]),
        ("Rome", "Rome"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("-Infinity", "-Infinity"),
        ("9" * 400, "9" * 400),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_text_without_a_json_value_stays_text(text: str, value: JsonValue) -> None:
    """An id of many digits keeps them all."""
    assert read_json(text) == value


@pytest.mark.parametrize(
    "text", ["[" * 200 + "]" * 200, "[" * 50_000, r'"\ud800"', r'{"\udfff": 1}']
)
def test_json_that_no_message_can_hold_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_json(text)
    assert len(str(refused.value)) < 100


def test_limits_are_read_by_name() -> None:
    """Whole numbers, an amount of USD, and a time in ISO 8601."""
    pairs = ["requests=40", "cost_usd=1.50", "wall_clock=PT2H30M"]
    wall_clock = timedelta(hours=2, minutes=30)
    read = Limits(requests=40, cost_usd=Decimal("1.50"), wall_clock=wall_clock)
    assert read_limits(pairs) == read
    assert read_limits([]) == Limits()


@pytest.mark.parametrize(
    "pair", ["tokens=5", "requests=0", "requests=many", "wall_clock=soon", "requests"]
)
def test_an_invalid_limit_is_refused(pair: str) -> None:
    with pytest.raises(UsageError, match=pair.partition("=")[0]):
        read_limits([pair])


def test_a_model_option_overrides_rules_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line is the later word of the same person; it names one of the two."""
    assert model_variables(None) == {}
    assert model_variables("a:b") == {"ORCHESTRATOR_PLANNER_MODEL": "a:b"}
    monkeypatch.setenv("ORCHESTRATOR_PLANNER", "chaining")
    assert model_variables("a:b")["ORCHESTRATOR_PLANNER"] == "llm"
    with pytest.raises(UsageError):
        request_of("g", planner="chaining", model="a:b")


@pytest.mark.parametrize(
    "words",
    [
        "mission answer m --retry --give-up",
        "mission answer m k=v --model a:b",
        "mission watch m --once",
        "mission watch m --after cursor",
        "mission export m --file handle",
        "pii --forget",
        "pii name --forget --mission m",
        "pii --mission m",
        "pii --value x",
        "confirm reject CID --rule --reason no --then skip",
        "confirm notices n-1",
        "confirm notices --replay",
        "confirm notices --test ops --replay --since 1h",
        "key payload payload.keys",
        "key approval ann.jwk",
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: str, run: Callable[..., Ran], connect_to: Callable[[object], None]
) -> None:
    connect_to(None)
    ran = run(*words.split())

    assert (ran.exit_code, ran.stdout) == (2, "")
    assert list(Path().iterdir()) == []


# -- documents -------------------------------------------------------------------------------------


@pytest.fixture
def other(ours: Path) -> Path:
    file = ours.with_name("other.yaml")
    file.write_text(ours.read_text().replace("crm.yaml", "erp.yaml"))
    return file


def test_documents_of_the_command_line_come_first(crm: Path, ours: Path, other: Path) -> None:
    """An overlay of the settings for another document is left out, with a warning."""
    settings = Settings(specs=(crm,), overlays=(ours,))
    with warnings.catch_warnings(action="error"):
        assert choose(settings, None, [other]) == ((crm,), (other,))
        assert choose(settings, None, None) == ((crm,), (ours,))
        assert choose(settings, [other], [ours]) == ((other,), (ours,))
        assert choose(Settings(specs=(crm,)), [other], None) == ((other,), ())
    settings = Settings(specs=(Path("specs"),), overlays=(ours, other))
    with pytest.warns(OverlayWarning, match=r"other\.yaml .* extends erp\.yaml"):
        chosen = choose(settings, [crm], None)
    assert chosen == ((crm,), (ours,))


# -- inputs of tools -------------------------------------------------------------------------------

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "phone": {"type": "string"},
        "size": {"enum": ["1", "2"]},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "vip": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "note": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "code": {"$ref": "#/$defs/Code"},
        "strict": {"allOf": [{"type": ["string", "integer"]}, {"$ref": "#/$defs/Code"}]},
        "loop": {"$ref": "#/$defs/Loop"},
        "anything": {},
        "five": {"const": 5},
    },
    "$defs": {
        "Code": {"type": "string", "maxLength": 9},
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "integer"}]},
    },
}
TOOL = Tool(name="t", document="d", domain="d", input_schema=SCHEMA)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("phone=0123", "0123"),
        ("phone=null", "null"),
        ("phone=", ""),
        ("phone=a=b", "a=b"),
        ("size=2", "2"),
        ("code=007", "007"),
        ("strict=5", "5"),
        ("note=5", "5"),
        ("note=null", None),
        ("count=3", 3),
        ("count=three", "three"),
        ("price=2.50", 2.5),
        ("price=NaN", "NaN"),
        ("vip=true", True),
        ('tags=["a", "b"]', ["a", "b"]),
        ('place={"city": "Oslo"}', {"city": "Oslo"}),
        ("either=5", 5),
        ('either="5"', "5"),
        ("either=[1]", "[1]"),
        ("anything=5", 5),
        ("five=5", 5),
        ("loop=5", 5),
        ("unknown=5", 5),
        ("count=pii:birth_year", "pii:birth_year"),
        ("phone=@@ada", "@ada"),
    ],
)
def test_an_input_is_read_by_its_schema(pair: str, value: Any) -> None:
    """Strings stay as written; JSON is read where the schema takes another type."""
    assert read_inputs(TOOL, [pair]) == {pair.partition("=")[0]: value}


def test_a_file_gives_json_or_its_text(tmp_path: Path) -> None:
    """JSON for an input that takes it, the text as it is for a string."""
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"city": "Århus"}), encoding="utf-8")

    assert read_inputs(TOOL, [f"place=@{file}", f"phone=@{file}"]) == {
        "place": {"city": "Århus"},
        "phone": '{"city": "\\u00c5rhus"}',
    }


@pytest.mark.parametrize(
    "pairs", [["count"], ["count=1", "count=2"], ["place=@nowhere.json"], ["place=@broken.json"]]
)
def test_bad_inputs_fail(pairs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")

    with pytest.raises(UsageError, match=pairs[0].partition("=")[0]):
        read_inputs(TOOL, pairs)


def test_a_process_names_standing_approvals_that_never_run_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a worker starts, and where settings are listed; without a policy there is none."""
    path = tmp_path / "policy.yaml"
    path.write_text("confirmation: {standing: [{name: meals, tools: [dining_order_meal]}]}")
    note_doubtful_settings(Settings(mission_policy=path))
    note_doubtful_settings(Settings(mission_policy=None))

    assert capsys.readouterr().err.count("the standing approval meals has neither total") == 1
