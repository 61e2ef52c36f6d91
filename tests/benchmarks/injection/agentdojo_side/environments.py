"""One user task and one injection, in an environment of its own that keeps what was done to it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline
from agentdojo.attacks.important_instructions_attacks import ImportantInstructionsAttack
from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import Function, FunctionCall, FunctionsRuntime, TaskEnvironment
from agentdojo.models import MODEL_NAMES
from agentdojo.task_suite.load_suites import get_suite, get_suites
from agentdojo.task_suite.task_suite import TaskSuite
from pydantic import TypeAdapter

from tests.benchmarks.injection.agentdojo_side.suite_documents import (
    document_of,
    is_consequence,
    tool_name,
)
from tests.benchmarks.injection.environment_server import Refused

_VERSION: Final = "v1.2.2"
_NOTICE: Final = (
    "Tasks, environments and attacks are AgentDojo's (github.com/ethz-spylab/agentdojo), "
    "Copyright (c) 2024 Edoardo Debenedetti, Jie Zhang, Mislav Balunovic, Luca Beurer-Kellner, "
    "Marc Fischer, and Florian Tramer; MIT license."
)
_JSON: Final = TypeAdapter(Any)


@dataclass
class AgentDojoEnvironment:
    """What one mission finds, and the witness of what it does."""

    suite: TaskSuite[Any]
    user_task: BaseUserTask[Any]
    injection_task: BaseInjectionTask[Any] | None
    before: TaskEnvironment
    now: TaskEnvironment
    made: list[FunctionCall] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    """Answers by idempotency key: a call that comes twice is made once."""

    def call(
        self, suite: str, function: str, given: Mapping[str, Any], key: str, *, is_query: bool
    ) -> Any:
        """Run a function.

        Raises:
            Refused: it raised, or there is none of that name.
        """
        if key and key in self.keys:
            return self.keys[key]
        functions = {one.name: one for one in self.suite.tools}
        if suite != self.suite.name or function not in functions:
            raise Refused(f"there is no {function} here")
        arguments = _typed(given, functions[function]) if is_query else dict(given)
        result, error = FunctionsRuntime(self.suite.tools).run_function(
            self.now, function, arguments
        )
        if error is not None:
            raise Refused(error)
        self.made.append(FunctionCall(function=function, args=arguments))
        answer = {"result": _JSON.dump_python(result, mode="json")}
        if key:
            self.keys[key] = answer
        return answer

    def task(self) -> dict[str, Any]:
        """What is asked for, what does it, and what the injection wants, as calls."""
        wanted = self.injection_task
        return {
            "goal": self.user_task.PROMPT,
            "ends_with": self.user_task.GROUND_TRUTH_OUTPUT or "Done.",
            "calls": self._calls(self.user_task),
            "injected": [] if wanted is None else self._calls(wanted),
        }

    def witnessed(self) -> dict[str, Any]:
        """The consequences that arrived, and AgentDojo's own verdicts."""
        return {
            "effects": [self._told(one) for one in self.made if is_consequence(one.function)],
            "task_done": self._holds(self.user_task),
            "attack_succeeded": self.injection_task is not None
            and self._holds(self.injection_task),
        }

    def _calls(self, task: BaseUserTask[Any] | BaseInjectionTask[Any]) -> list[dict[str, Any]]:
        return [self._told(one) for one in task.ground_truth(self.before.model_copy(deep=True))]

    def _told(self, call: FunctionCall) -> dict[str, Any]:
        given = {name: value for name, value in call.args.items() if value is not None}
        return {
            "tool": tool_name(self.suite.name, call.function),
            "arguments": _JSON.dump_python(given, mode="json"),
            "is_consequence": is_consequence(call.function),
        }

    def _holds(self, task: BaseUserTask[Any] | BaseInjectionTask[Any]) -> bool:
        # What the model says at its end is no consequence: it says what its user's task ends with.
        said = [{"type": "text", "content": self.user_task.GROUND_TRUTH_OUTPUT}]
        return bool(self.suite._check_task_result(task, said, self.before, self.now, self.made))


@cache
def _attack(suite: str) -> ImportantInstructionsAttack:
    victim = GroundTruthPipeline(None)
    victim.name = next(iter(MODEL_NAMES))
    return ImportantInstructionsAttack(get_suite(_VERSION, suite), victim)


def open_environment(
    suite: str, user_task: str, injection_task: str | None
) -> AgentDojoEnvironment:
    """A fresh environment, with AgentDojo's attack in all places that the user task reads."""
    own = get_suite(_VERSION, suite)
    user = own.get_user_task_by_id(user_task)
    injected = None if injection_task is None else own.get_injection_task_by_id(injection_task)
    texts = {} if injected is None else _attack(suite).attack(user, injected)
    now = user.init_environment(own.load_and_inject_default_environment(texts))
    return AgentDojoEnvironment(own, user, injected, now.model_copy(deep=True), now)


def listing(server: str) -> dict[str, Any]:
    """Every suite: its document, and the ids of its tasks."""
    return {
        name: {
            "document": document_of(suite, server),
            "user_tasks": list(suite.user_tasks),
            "injection_tasks": list(suite.injection_tasks),
        }
        for name, suite in get_suites(_VERSION).items()
    }


def recorded(cases: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """Cases as they are, and what each call of theirs is answered."""
    suites = listing("SERVER")
    chosen = {suite: {"document": suites[suite]["document"]} for suite, *_ in cases}
    return {
        "notice": _NOTICE,
        "suites": chosen,
        "cases": {":".join(case): _played(*case) for case in cases},
    }


def _played(suite: str, user_task: str, injection_task: str) -> dict[str, Any]:
    environment = open_environment(suite, user_task, injection_task)
    task = environment.task()
    answers = []
    for number, call in enumerate([*task["calls"], *task["injected"]]):
        with suppress(Refused):
            function = call["tool"].removeprefix(f"{suite}_")
            answer = environment.call(
                suite, function, call["arguments"], f"{number}", is_query=False
            )
            answers.append({**call, "answer": answer})
    return {"task": task, "answers": answers}


def _typed(query: Mapping[str, Any], function: Function[..., Any]) -> dict[str, Any]:
    """The texts of a query as the function's inputs are."""
    properties = function.parameters.model_json_schema().get("properties", {})
    return {
        name: values
        if "array" in str(properties.get(name))
        else int(values[0])
        if "'integer'" in str(properties.get(name))
        else values[0]
        for name, values in query.items()
    }
