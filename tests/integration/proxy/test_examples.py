"""What docs/proxy.md shows runs, with the clients that it names, through a real proxy."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.integration.proxy.model_server import ModelServer

_ROOT = Path(__file__).parents[3]
_PAGE = _ROOT / "docs" / "proxy.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), re.M | re.S)
_GIVEN = "from tests.integration.proxy.example_tools import tools, toolsets\n"


def test_there_are_examples() -> None:
    """Of OpenAI's client, of pruning without a proxy in two ways, of two other clients."""
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
async def test_an_example_runs(example: str, proxy: str, model: ModelServer) -> None:
    """And the model sees one tool of 51, wherever a model is called."""
    model.ends_with = "Rain."
    code = _GIVEN + example.replace("http://127.0.0.1:8800", proxy)
    keys = {"OPENAI_API_KEY": "sk-planted", "ANTHROPIC_API_KEY": "sk-planted"}
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code),
        cwd=_ROOT,
        env={**os.environ, **keys},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await running.communicate()

    assert running.returncode == 0, errors.decode()
    if "8800" in example:
        assert model.received[0].tools == ["open_meteo_weather"]
    else:
        assert said.decode().split() == ["1", "semantic"]
