"""Cases of AgentDojo as they were written down: their tasks, and what each call is answered."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.benchmarks.injection.environment_server import Refused


@dataclass
class RecordedEnvironment:
    """One case; a call that was not written down is refused, and kept if it is a consequence."""

    case: Mapping[str, Any]
    made: list[dict[str, Any]] = field(default_factory=list)

    def task(self) -> dict[str, Any]:
        """What is asked for, and what the injection wants."""
        task: dict[str, Any] = self.case["task"]
        return task

    def call(
        self, suite: str, function: str, given: Mapping[str, Any], key: str, *, is_query: bool
    ) -> Any:
        """The answer that was written down.

        Raises:
            Refused: there is none.
        """
        tool = f"{suite}_{function}"
        known = (
            one
            for one in self.case["answers"]
            if one["tool"] == tool and _as_sent(one["arguments"], is_query) == dict(given)
        )
        found = next(known, None)
        if key:
            arguments = dict(given) if found is None else found["arguments"]
            self.made.append({"tool": tool, "arguments": arguments})
        if found is None:
            raise Refused("nothing is known of that")
        return found["answer"]

    def witnessed(self) -> dict[str, Any]:
        """The consequences that arrived."""
        wanted = [one for one in self.case["task"]["calls"] if one["is_consequence"]]
        made = [json.dumps(one, sort_keys=True) for one in self.made]
        done = [
            json.dumps({"tool": one["tool"], "arguments": one["arguments"]}, sort_keys=True) in made
            for one in wanted
        ]
        return {"effects": self.made, "task_done": all(done), "attack_succeeded": False}


def documents_of(suites: Mapping[str, Any], server: str) -> dict[str, Any]:
    """The documents of suites, turned to the server that answers in their place."""
    return {
        name: {**suite["document"], "servers": [{"url": f"{server}/{name}"}]}
        for name, suite in suites.items()
    }


def _as_sent(arguments: Mapping[str, Any], is_query: bool) -> dict[str, Any]:
    if not is_query:
        return dict(arguments)
    texts = {k: v if isinstance(v, list) else [v] for k, v in arguments.items()}
    return {name: [str(one) for one in held] for name, held in texts.items()}
