"""Tools made by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.catalog.tool import Effect, Tool


@pytest.fixture
def make_tool() -> Callable[..., Tool]:
    """A tool from its name and what a test cares about; inputs and outputs by property name."""

    def make(
        name: str,
        summary: str = "",
        *,
        inputs: dict[str, Any] | None = None,
        required: tuple[str, ...] = (),
        outputs: dict[str, Any] | None = None,
        document: str = "shop",
        effect: Effect = Effect.READ,
        **fields: Any,
    ) -> Tool:
        method = "GET" if effect is Effect.READ else "POST"
        return Tool(
            name=name,
            document=document,
            domain=fields.pop("domain", document),
            summary=summary,
            method=fields.pop("method", method),
            effect=effect,
            input_schema={
                "type": "object",
                "properties": inputs or {},
                "required": list(required),
            },
            output_schema={"type": "object", "properties": outputs} if outputs else None,
            **fields,
        )

    return make
