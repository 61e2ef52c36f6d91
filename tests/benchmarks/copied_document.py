"""A document as large as one likes: another one, several times over.

`python -m tests.benchmarks.copied_document api.github.com.json 4 large.json`
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r'"#/components/(?!securitySchemes/)(\w+)/')


def copied(document: dict[str, Any], copies: int) -> dict[str, Any]:
    """The document with its paths and components so many times."""
    result = {**document, "paths": {}, "components": {}}
    parts = json.dumps({key: document.get(key, {}) for key in ("paths", "components")})
    for number in range(copies):
        copy = json.loads(_REFERENCE.sub(rf'"#/components/\1/c{number}-', parts))
        for path, item in copy["paths"].items():
            result["paths"][f"/c{number}{path}"] = _renamed(item, number)
        for section, entries in copy["components"].items():
            mark = "" if section == "securitySchemes" else f"c{number}-"
            result["components"].setdefault(section, {}).update(
                {f"{mark}{name}": entry for name, entry in entries.items()}
            )
    return result


def _renamed(path_item: dict[str, Any], number: int) -> dict[str, Any]:
    for operation in path_item.values():
        if isinstance(operation, dict) and "operationId" in operation:
            operation["operationId"] = f"c{number}-{operation['operationId']}"
    return path_item


if __name__ == "__main__":
    source, times, target = sys.argv[1:]
    made = copied(json.loads(Path(source).read_text(encoding="utf-8")), int(times))
    Path(target).write_text(json.dumps(made, indent=2), encoding="utf-8")
