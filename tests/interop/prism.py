"""Prism, the independent mock server: put in place by npm, started for one document, and read."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx

_PACKAGE: Final = Path(__file__).parent / "prism_package"
_LISTENING: Final = "Prism is listening"
_VIOLATIONS: Final = "sl-violations"
_TOO_MANY: Final = "Too many violations! "
_FIRST_IS_REQUEST: Final = '"location":["request"'
_FIRST: Final = 80
_LOOK_S: Final = 0.2
_OWN_PROBLEMS: Final = "stoplight.io/prism/errors"
_REFUSALS: Final = frozenset({"UNPROCESSABLE_ENTITY", "UNAUTHORIZED"})
"""Of its problems those that judge the request; the others say why it could not."""


class PrismMissing(Exception):
    """Prism cannot be put in place, or does not start; the sentence says why."""


@dataclass(frozen=True)
class Violation:
    """What Prism has against a request or against its own answer."""

    place: str
    """`request.query.limit`, `response.body.items.0`."""
    code: str
    message: str


@dataclass(frozen=True)
class Judgement:
    """What Prism made of one request."""

    status: int
    problem: str = ""
    """The last word of the problem type when it could not judge, e.g. NO_PATH_MATCHED_ERROR."""
    request: tuple[Violation, ...] = ()
    answer: tuple[Violation, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it found the request right."""
        return not self.request and not self.problem


def installed(cache: Path) -> Path:
    """The script that starts Prism; of the versions in our lock, and nothing of it is run before.

    Raises:
        PrismMissing: there is no npm, or it could not bring them.
    """
    folder = cache / "prism"
    script = folder / "node_modules" / "@stoplight" / "prism-cli" / "dist" / "index.js"
    if script.exists():
        return script
    if shutil.which("npm") is None:
        raise PrismMissing("Prism needs Node.js and npm: install both, then run this again")
    folder.mkdir(parents=True, exist_ok=True)
    for file in _PACKAGE.glob("package*.json"):
        shutil.copy(file, folder)
    command = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PrismMissing(f"npm could not bring Prism: {done.stderr.strip()[-500:]}")
    return script


@contextlib.contextmanager
def serving(script: Path, document: Path, log: Path, *, within_s: float) -> Iterator[str]:
    """The address of a Prism that mocks one document, on this machine alone.

    Without `--errors` it answers what the document describes to every request, and says in a
    header what it has against the request and against its own answer.

    Raises:
        PrismMissing: it ended, or did not begin to listen in time.
    """
    port = _free_port()
    command = ("node", str(script), "mock", "-h", "127.0.0.1", "-p", str(port), str(document))
    with log.open("w", encoding="utf-8") as output:
        quiet = {**os.environ, "FORCE_COLOR": "0", "SCARF_ANALYTICS": "false"}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=quiet)
        try:
            _wait_for(process, log, within_s)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def judgement_of(response: httpx.Response) -> Judgement:
    """What the headers and the problem document of an answer say; its body has been read."""
    found = _in_header(response.headers.get(_VIOLATIONS, "[]"))
    problem, named = _problem(response)
    if problem in _REFUSALS:
        found, problem = found or _of_request(named), ""
    return Judgement(
        response.status_code,
        problem,
        tuple(v for v in found if v.place.startswith("request")),
        tuple(v for v in found if v.place.startswith("response")),
    )


def _problem(response: httpx.Response) -> tuple[str, list[Violation]]:
    """Prism's own problem, if the answer is one; a document may declare others, which it mocks."""
    if not response.headers.get("content-type", "").startswith("application/problem+json"):
        return "", []
    try:
        problem = response.json()
    except ValueError:
        return "", []
    kind = str(problem.get("type", "")) if isinstance(problem, dict) else ""
    if _OWN_PROBLEMS not in kind and "/" in kind:
        return "", []
    return kind.rpartition("#")[2] or "UNKNOWN", _violations(problem.get("validation", []))


def _in_header(written: str) -> list[Violation]:
    if written.startswith(_TOO_MANY):
        # Those of the request come first.
        place = "request" if _FIRST_IS_REQUEST in written[:_FIRST] else "response"
        return [Violation(place, "many", written[:300])]
    return _violations(json.loads(written))


def _of_request(violations: list[Violation]) -> list[Violation]:
    return [replace(violation, place=f"request.{violation.place}") for violation in violations]


def _violations(entries: list[dict[str, Any]]) -> list[Violation]:
    return [
        Violation(
            ".".join(map(str, e.get("location", []))), str(e.get("code", "")), str(e["message"])
        )
        for e in entries
        if e.get("severity") == "Error"
    ]


def _wait_for(process: "subprocess.Popen[bytes]", log: Path, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        said = log.read_text(encoding="utf-8", errors="replace")
        if _LISTENING in said:
            return
        if process.poll() is not None:
            raise PrismMissing(f"Prism ended: {said.strip()[-300:]}")
        time.sleep(_LOOK_S)
    raise PrismMissing(f"Prism did not read the document within {within_s:g} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
