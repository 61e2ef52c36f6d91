"""Loads and lints documents, each in a process of its own with limits; prints what became of it.

Run as `python examine.py PATH...`; a line of JSON for each path. A fork per document keeps one from
hiding behind what another has used up, and costs no import.
"""

import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.lint import lint
from orchestrator.core.errors import SpecError, UsageError

MEGABYTE = 2**20
_CPU_S = 20
_ADDRESS_SPACE = 4_096 * MEGABYTE
"""Far above what is asserted: they end what would otherwise never end."""


def _compile(path: Path) -> str:
    catalog = Catalog.load(path)
    assert len(catalog.digest) == 64
    return f"{len(catalog)} tools"


def _lint(path: Path) -> str:
    return " ".join(sorted({finding.code for finding in lint(load_documents(path))}))


def _outcome(work: Callable[[Path], str], path: Path) -> str:
    try:
        return work(path)
    except (SpecError, UsageError) as error:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return f"crashed: {traceback.format_exc(limit=-3)}"


def _examine(path: Path) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        report = {"compile": _outcome(_compile, path), "lint": _outcome(_lint, path)}
        os.write(writing, json.dumps(report).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status, used = os.wait4(child, 0)
    report = json.loads(text) if text else {"compile": "killed", "lint": f"status {status}"}
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "path": str(path),
        **report,
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_mb": max(0, used.ru_maxrss - base) * 1024 / MEGABYTE,
    }


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(json.dumps(_examine(Path(argument))), flush=True)  # noqa: T201
