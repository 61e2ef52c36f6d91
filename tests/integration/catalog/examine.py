"""Loads and lints documents, each in a process of its own with limits; prints what became of it.

Run as `python examine.py PATH...`; a line of JSON for each path. A fork per document keeps one from
hiding behind what another has used up, and costs no import.
"""

import gc
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.lint import lint
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject

T = TypeVar("T")
Documents = Mapping[str, JsonObject]

MEGABYTE = 2**20
_CPU_S = 20
_ADDRESS_SPACE = 4_096 * MEGABYTE
"""Far above what is asserted: they end what would otherwise never end."""


def _compiled(documents: Documents) -> str:
    catalog = Catalog.from_documents(documents)
    assert len(catalog.digest) == 64
    left_out = [f"; {s.document} at {s.pointer}: {s.reason}" for s in catalog.skipped]
    return f"{len(catalog)} tools{''.join(left_out)}"


def _linted(documents: Documents) -> str:
    return " ".join(sorted({finding.code for finding in lint(documents)}))


def _outcomes(path: Path) -> dict[str, str]:
    """What compiler and linter make of what is read once for both."""
    read = _outcome(lambda: load_documents(path))
    if isinstance(read, str):
        return {"compile": read, "lint": read}
    return {
        "compile": str(_outcome(lambda: _compiled(read))),
        "lint": str(_outcome(lambda: _linted(read))),
    }


def _outcome(work: Callable[[], T]) -> T | str:
    try:
        return work()
    except OrchestratorError as error:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return f"crashed: {traceback.format_exc(limit=-3)}"


def _examine(path: Path) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        os.write(writing, json.dumps(_outcomes(path)).encode()[:60_000])
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


_PLAIN: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Thing", "version": "1"},
    "paths": {"/thing": {"get": {"responses": {"204": {"description": "Done."}}}}},
}

if __name__ == "__main__":
    # What compiler and linter make once is made here, and no document is charged for it; what is
    # frozen is neither looked through nor copied for a fork's garbage.
    _compiled({"plain": _PLAIN})
    _linted({"plain": _PLAIN})
    gc.freeze()
    for argument in sys.argv[1:]:
        print(json.dumps(_examine(Path(argument))), flush=True)  # noqa: T201
