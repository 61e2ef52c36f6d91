"""The JSON Schema of the file of `orchestrator serve`: `python -m tests.serve_schema` writes it."""

import json
from pathlib import Path
from typing import Final

from orchestrator.web.config import ServeConfig

SCHEMA_FILE: Final = Path(__file__).parents[1] / "specs" / "serve.schema.json"


def schema_text() -> str:
    """Return the schema as it is published."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ServeConfig.model_json_schema(),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
