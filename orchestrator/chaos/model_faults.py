"""The scripted model of a chaos run and its faults."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.core.errors import UsageError
from orchestrator.planning.models import LLM
from orchestrator.settings import MODEL_VARIABLE, PLANNER_VARIABLE
from orchestrator.testing.model_server import (
    ModelReply,
    ModelServer,
    ReceivedRequest,
    broken_call,
    broken_json,
    call,
    cut_body,
    drop,
    no_json,
    nothing,
    rate_limited,
    refuse,
    say,
    server_error,
)
from orchestrator.testing.model_server.rule_model import RuleModel

MODEL: Final = "openai:gpt-5"
"""The name of the model, which selects the API."""
SERVED: Final = ("openai", "openai-responses", "openai-chat", "anthropic")
_TROUBLE: Final[tuple[Callable[[], ModelReply], ...]] = (
    cut_body,
    drop,
    no_json,
    broken_json,
    server_error,
    lambda: server_error(503),
    lambda: rate_limited(1),
    nothing,
    refuse,
    lambda: say("I would book it."),
    lambda: call("no_such_tool"),
    lambda: broken_call("part_done", '{"summary": "D'),
)
_SHARE: Final = 0.1
_MOST_IN_A_ROW: Final = 1
"""The maximum for one prompt, below the limit of bad answers that ends a leg."""


class FaultyModel:
    """A model that decides by rules, with faults drawn by the seed of a run."""

    def __init__(self, model: RuleModel, seed: int, faults: frozenset[ChaosFault]) -> None:
        """Create a model; `model` answers requests without a fault."""
        self._model = model
        self._seed = seed
        self._is_faulty = ChaosFault.MODEL in faults
        self._asked: Counter[str] = Counter()
        self.fired = 0
        """Number of requests with a fault."""

    async def __call__(self, request: ReceivedRequest) -> ModelReply:
        """Reply with a fault that the prompt draws at its first request, else with the answer."""
        prompt = hashlib.sha256(request.prompt.encode()).hexdigest()
        self._asked[prompt] += 1
        rng = Random(f"{self._seed}:{prompt}")
        is_struck = self._is_faulty and rng.random() < _SHARE
        if not is_struck or self._asked[prompt] > _MOST_IN_A_ROW:
            return await self._model(request)
        self.fired += 1
        return rng.choice(_TROUBLE)()


class ModelledRun:
    """A run whose missions are planned by a model on a server of this process."""

    def __init__(self, server: ModelServer, script: FaultyModel, model: str) -> None:
        """Create a run; `model` is the model's name."""
        self._server = server
        self._script = script
        self._model = model

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the worker processes."""
        planning = {PLANNER_VARIABLE: LLM, MODEL_VARIABLE: self._model}
        return {**self._server.environment, **planning}

    @property
    def fired(self) -> Counter[ChaosFault]:
        """The number of requests with a fault."""
        return Counter({ChaosFault.MODEL: self._script.fired})

    @property
    def options(self) -> str:
        """Options of the command that repeats the run."""
        return f" --planner {LLM} --model {self._model}"


@asynccontextmanager
async def modelled_run(
    seed: int, faults: frozenset[ChaosFault], catalog: Catalog, model: str | None
) -> AsyncIterator[ModelledRun]:
    """Serve a model that decides by rules, until the block ends.

    Raises:
        UsageError: the model's provider has an API that is not served here.
        AssertionError: a provider would have refused a request.
    """
    name = model or MODEL
    if name.partition(":")[0] not in SERVED:
        raise UsageError(f"--model {name}: a chaos run serves models of {', '.join(SERVED)} alone")
    script = FaultyModel(RuleModel(catalog), seed, faults)
    async with ModelServer(script) as server:
        yield ModelledRun(server, script, name)
