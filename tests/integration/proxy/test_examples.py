"""What docs/routing.md shows runs, with the clients that it names, through a real proxy.

Two of the clients have an environment of their own, which `make clients` makes.
"""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.integration.proxy.model_server import ModelServer
from tests.unit.pruning.test_pruner import CHAT_TOOLS

_ROOT = Path(__file__).parents[3]
_PAGE = _ROOT / "docs" / "routing.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), re.M | re.S)
_GIVEN = "from tests.integration.proxy.example_tools import tools, toolsets\n"
_ELSEWHERE = re.compile("langchain|litellm")
"""What an example has that runs in the environment of `make clients`."""
HERE = [example for example in EXAMPLES if not _ELSEWHERE.search(example)]
THERE = [example for example in EXAMPLES if _ELSEWHERE.search(example)]


def test_there_are_examples() -> None:
    """Of OpenAI's client, of pruning without a proxy in two ways, of four other clients."""
    assert (len(HERE), len(THERE)) == (5, 2)


# Each begins an interpreter with a framework, for seconds of a processor; test_proxy.py tries the
# proxy with the clients of OpenAI and Anthropic in every run.
@pytest.mark.parametrize(
    "example",
    [*HERE[:2], *(pytest.param(one, marks=pytest.mark.long) for one in HERE[2:])],
    ids=range(len(HERE)),
)
async def test_an_example_runs(example: str, proxy: str, model: ModelServer) -> None:
    """And the model sees one tool of 51, wherever a model is called."""
    model.ends_with = "Rain."

    said = await _run(sys.executable, _GIVEN + example.replace("http://127.0.0.1:8800", proxy))

    if "8800" in example:
        assert model.received[0].tools == ["open_meteo_weather"]
    else:
        assert said.split() == ["1", "semantic"]


@pytest.mark.clients
@pytest.mark.parametrize("example", THERE, ids=range(len(THERE)))
async def test_an_example_runs_in_its_own_environment(
    example: str, proxy: str, model: ModelServer
) -> None:
    """And the model sees one tool of 51."""
    given = f"import json\ntools = json.loads({json.dumps(CHAT_TOOLS)!r})\n"

    await _run(
        os.environ["CLIENTS_PYTHON"], given + example.replace("http://127.0.0.1:8800", proxy)
    )

    assert [request.tools for request in model.received] == [["open_meteo_weather"]]


async def _run(python: str, code: str) -> str:
    """What a program says that ends well."""
    keys = {"OPENAI_API_KEY": "sk-planted", "ANTHROPIC_API_KEY": "sk-planted"}
    running = await asyncio.create_subprocess_exec(
        *(python, "-c", code),
        cwd=_ROOT,
        env={**os.environ, **keys},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    return said.decode()
