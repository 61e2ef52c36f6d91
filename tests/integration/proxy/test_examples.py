"""What docs/proxy.md shows runs, with the clients that it names, through a real proxy."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pydantic_ai.models
import pytest
from pydantic_ai import Tool
from pydantic_ai.toolsets import FunctionToolset

from tests.integration.proxy.model_server import ModelServer
from tests.unit.pruning.test_pruner import CHAT_TOOLS

_PAGE = Path(__file__).parents[3] / "docs" / "proxy.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), re.M | re.S)


def _toolset() -> FunctionToolset[Any]:
    """The same tools, as pydantic-ai has them."""

    def answers(**arguments: Any) -> str:
        return "done"

    made = (tool["function"] for tool in CHAT_TOOLS)
    return FunctionToolset(
        [
            Tool.from_schema(
                answers,
                re.sub(r"\W", "_", function["name"]),
                function["description"],
                function["parameters"],
            )
            for function in made
        ]
    )


def test_there_are_examples() -> None:
    """Of OpenAI's client, of pruning without a proxy in two ways, of two other clients."""
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
async def test_an_example_runs(
    example: str, proxy: str, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the model sees one tool of 51, wherever a model is called."""
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)  # of this machine
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")
    model.ends_with = "Rain."
    names: dict[str, Any] = {"tools": CHAT_TOOLS, "toolsets": [_toolset()]}
    code = example.replace("http://127.0.0.1:8800", proxy)

    await asyncio.to_thread(exec, code, names)
    if "client" in names:
        names["client"].close()

    if "8800" in example:
        assert model.received[0].tools == ["open_meteo_weather"]
    else:
        assert [tool["function"]["name"] for tool in names["pruned"].tools] == [
            "open_meteo_weather"
        ]
