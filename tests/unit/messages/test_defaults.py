"""Messages are written without defaults: these stay what they are, and what is left reads alike."""

import importlib
import json
import pkgutil
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from temporalio.api.common.v1 import Payload

from orchestrator import messages
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.confirmation.models import Amend, Approve, DecisionEnvelope, Reject, Respond
from orchestrator.core.record import OneOfSeveral, Record
from orchestrator.messages.mission import MissionInput, MissionRequest
from orchestrator.messages.step import KeptMessage, PlanStepOutput
from orchestrator.planning.models import (
    AskUser,
    CallTool,
    CallTools,
    DiscoverTools,
    Finish,
    GiveUp,
    HandOver,
)

RECORDED = Path(__file__).parent / "defaults.json"
CONVERTER = mission_converter().payload_converter


def kinds() -> list[type[Record]]:
    for module in pkgutil.walk_packages(messages.__path__, f"{messages.__name__}."):
        importlib.import_module(module.name)
    found: list[type[Record]] = [Record]
    for kind in found:
        found += [one for one in kind.__subclasses__() if one not in found]
    ours = [one for one in found if one.__module__.startswith("orchestrator.")]
    # Bodies of HTTP requests, which other tests may have imported, cross no Temporal boundary.
    return [one for one in ours if not one.__module__.startswith("orchestrator.web.")]


def default(field: FieldInfo) -> Any:
    value = field.get_default(call_default_factory=True, validated_data={})
    (of_list,) = json.loads(written([value]).data)
    return of_list


def defaults() -> dict[str, Any]:
    """What each field is where a message does not say it, written as messages are."""
    return {
        f"{kind.__module__.removeprefix('orchestrator.')}.{kind.__name__}.{name}": default(field)
        for kind in kinds()
        for name, field in kind.model_fields.items()
        if not field.is_required()
    }


def test_no_default_of_a_message_changes() -> None:
    """Histories do not hold them; CONTRIBUTING.md says how new ones are recorded."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    now = defaults()
    known = recorded.keys() & now.keys()
    assert {name: now[name] for name in known} == {name: recorded[name] for name in known}


def members(annotation: Any) -> list[list[Any]]:
    found = [member for part in get_args(annotation) for member in members(part)]
    if get_origin(annotation) in (Union, UnionType):
        found.append([one for one in get_args(annotation) if isinstance(one, type)])
    return found


def test_what_is_one_of_several_says_which() -> None:
    """By a `kind` that is always written, or by fields of its own: else they would look alike."""
    for kind in kinds():
        for name, field in kind.model_fields.items():
            for union in members(field.annotation):
                records = [one for one in union if issubclass(one, Record)]
                if KeptMessage in records:
                    records.remove(KeptMessage)
                    shared = {*KeptMessage.model_fields}
                    assert not any(shared & {*one.model_fields} for one in records), (kind, name)
                if len(records) > 1:
                    assert all(issubclass(one, OneOfSeveral) for one in records), (kind, name)


def written(value: Any) -> Payload:
    return CONVERTER.to_payloads([value])[0]


def read(payload: Payload, kind: type[Any]) -> Any:
    return CONVERTER.from_payloads([payload], [kind])[0]


PLANNERS = (
    CallTool(tool="a"),
    CallTools(calls=(CallTool(tool="a"), CallTool(tool="b", reason="r"))),
    DiscoverTools(query="q"),
    AskUser(question="q", fields={}),
    HandOver(agent="a", goal="g"),
    Finish(summary="s"),
    GiveUp(reason="r"),
)
PEOPLES = (
    Approve(confirmation_id="c", digest="d"),
    Amend(confirmation_id="c", changes={"a": None, "b": []}),
    Reject(confirmation_id="c", reason="r"),
    Respond(confirmation_id="c", text="t"),
)


@pytest.mark.parametrize("decision", [*PLANNERS, *PEOPLES], ids=lambda decision: decision.kind)
def test_a_decision_is_read_as_itself(decision: Any) -> None:
    """A planner's or a person's; what it says of arguments is no field, and is left whole."""
    kind = PlanStepOutput if decision in PLANNERS else DecisionEnvelope
    whole = kind(decision=decision)

    assert read(written(whole), kind) == whole


def test_a_message_that_was_written_whole_is_read_as_the_same() -> None:
    mission = MissionInput(request=MissionRequest(goal="Book a flight"))
    whole = Payload(metadata={"encoding": b"json/plain"}, data=mission.model_dump_json().encode())

    assert read(whole, MissionInput) == mission == read(written(mission), MissionInput)
    assert json.loads(written(mission).data) == {"request": {"goal": "Book a flight"}}


if __name__ == "__main__":
    text = json.dumps(defaults(), indent=1, sort_keys=True, ensure_ascii=False)
    RECORDED.write_text(f"{text}\n", encoding="utf-8")
