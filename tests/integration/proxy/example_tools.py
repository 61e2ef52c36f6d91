"""The tools that the examples of docs/routing.md are given: 51, also as pydantic-ai has them."""

import re
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.toolsets import FunctionToolset

from tests.unit.pruning.test_pruner import CHAT_TOOLS

tools: list[dict[str, Any]] = CHAT_TOOLS


def _answers(**arguments: Any) -> str:
    return "done"


def _tool(function: dict[str, Any]) -> Tool[Any]:
    name = re.sub(r"\W", "_", function["name"])
    return Tool.from_schema(_answers, name, function["description"], function["parameters"])


toolsets = [FunctionToolset[Any]([_tool(tool["function"]) for tool in tools])]
