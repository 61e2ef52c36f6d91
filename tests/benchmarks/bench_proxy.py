"""What the proxy adds to a call, and whether the tool that is needed gets through.

Time to the first byte through `orchestrator proxy` and directly, in turn, against one provider on
loopback that answers at once; each in a process of its own. Then the requests of the routing sets
that bring their own candidates, as chat requests: the share whose tools were all forwarded, how
many were, and about how many tokens that saved, beside five by rank-bm25 and by the embedder alone.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.proxy.pruning_transport import make_pruner
from orchestrator.proxy.server import address_of, listen
from orchestrator.pruning.model_apis import api_named
from tests.benchmarks import baselines
from tests.benchmarks.bench_routing_quality import FOLDER_VARIABLE
from tests.benchmarks.figure import Figure

_SIZES: Final = (10, 50, 200, 1_000)
_ROUNDS: Final = 200
_NEW_LISTS: Final = 25
_AT_ONCE: Final = 200
_FIXED: Final = 5
_CHARACTERS_A_TOKEN: Final = 4
_CHAT: Final = "/v1/chat/completions"


def run() -> list[Figure]:
    """Time, throughput and memory; and recall, where the sets are there."""
    return [*_timed(), *_quality()]


def _timed() -> Iterator[Figure]:
    with _provider() as provider, _proxy(provider) as (proxy, pid), httpx.Client() as client:
        for size in _SIZES:
            bodies = [_request(size)] * _ROUNDS
            _first_byte(client, proxy, bodies[0])
            yield from _added(f"{size} tools, seen before", client, provider, proxy, bodies)
        for size in _SIZES[:3]:
            bodies = [_request(size, mark=str(n)) for n in range(_NEW_LISTS)]
            yield from _added(f"{size} tools, new", client, provider, proxy, bodies)
        began = time.perf_counter()
        for _ in range(_AT_ONCE):
            _first_byte(client, proxy, _request(50))
        yield Figure(
            name="one after the other",
            value=_AT_ONCE / (time.perf_counter() - began),
            unit="requests/s",
            note="50 tools",
        )
        yield Figure(name="memory of the proxy", value=_resident_mb(pid), unit="MB")


def _added(
    name: str, client: httpx.Client, provider: str, proxy: str, bodies: Sequence[bytes]
) -> Iterator[Figure]:
    """How much later the first byte comes than directly; each pair one after the other."""
    direct, through = [], []
    for body in bodies:
        direct.append(_first_byte(client, provider, body))
        through.append(_first_byte(client, proxy, body))
    base = statistics.median(direct)
    added = [one - base for one in through]
    for label, value in (
        ("direct p50", base),
        ("added p50", statistics.median(added)),
        ("added p99", statistics.quantiles(added, n=100, method="inclusive")[98]),
    ):
        yield Figure(name=label, value=value * 1000, unit="ms", row=(name,))


def _first_byte(client: httpx.Client, base: str, body: bytes) -> float:
    began = time.perf_counter()
    with client.stream("POST", f"{base}{_CHAT}", content=body) as answer:
        for _ in answer.iter_raw():
            return time.perf_counter() - began
    return time.perf_counter() - began


def _request(size: int, mark: str = "") -> bytes:
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"{verb}_{noun}_{n}{mark}",
                "description": f"Use this when somebody wants to {verb} a {noun}. Returns it.",
                "parameters": {
                    "type": "object",
                    "properties": {noun: {"type": "string", "description": f"Which {noun}."}},
                    "required": [noun],
                },
            },
        }
        for n in range(size)
        for verb, noun in [(_VERBS[n % len(_VERBS)], _NOUNS[n // len(_VERBS) % len(_NOUNS)])]
    ]
    turn = {"role": "user", "content": "find the invoice of March and send it to Ana"}
    return json.dumps({"model": "m", "messages": [turn], "tools": tools}).encode()


_VERBS: Final = ("find", "send", "create", "delete", "list", "share", "archive", "rename")
_NOUNS: Final = (
    *("invoice", "file", "message", "meeting", "ticket", "order", "customer", "report"),
    *("flight", "room", "parcel", "photo", "song", "recipe", "lamp", "branch", "server", "lead"),
)


def _provide(address: Any) -> None:
    """A provider that answers at once, on a socket that listens."""
    import asyncio
    import socket

    answer = b'{"object":"chat.completion","choices":[]}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                received = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = received.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                writer.write(head % len(answer) + answer)
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()

    async def main() -> None:
        listener = socket.socket(fileno=address)
        server = await asyncio.start_server(serve, sock=listener, limit=1 << 20)
        await server.serve_forever()

    asyncio.run(main())


@contextmanager
def _provider() -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_provide, args=(listener.fileno(),), daemon=True)
    process.start()
    try:
        yield address_of(listener)
    finally:
        process.terminate()
        process.join()
        listener.close()


@contextmanager
def _proxy(provider: str) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "orchestrator", "proxy", "--upstream", f"{provider}/v1"]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", "--limit-ms", "1000"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if "answers at" in line)
            yield said.split()[-1].removesuffix("/v1"), process.pid
        finally:
            process.terminate()


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _quality() -> Iterator[Figure]:
    folder = Path(os.environ.get(FOLDER_VARIABLE) or "build/datasets")
    pruner = make_pruner(similarity_in_process(), limit_s=30)
    similarity, chat = similarity_in_process(), api_named("chat")
    for name in sorted(path.parent.name for path in folder.glob("*/queries.jsonl")):
        asked = list(_with_candidates(folder / name))
        if not asked:
            continue
        rows: dict[str, list[tuple[bool, int, int]]] = {}
        for text, tools, gold in asked:
            whole = json.dumps({"messages": [{"role": "user", "content": text}], "tools": tools})
            sent = pruner.prune(chat, whole.encode())
            kept = [tools[index] for index in sent.kept] if sent.offered else tools
            catalog = Catalog.from_functions(tools)
            ways = {
                "proxy": [tool["function"]["name"] for tool in kept],
                f"rank-bm25, {_FIXED}": _best(catalog, text, baselines.rank_bm25(catalog)),
                f"embedder, {_FIXED}": _best(
                    catalog, text, baselines.embedder_alone(similarity(catalog))
                ),
            }
            for way, names in ways.items():
                saved = sum(len(json.dumps(t)) for t in tools if t["function"]["name"] not in names)
                found = all(not set(group).isdisjoint(names) for group in gold)
                rows.setdefault(way, []).append((found, len(names), saved))
        for way, answered in rows.items():
            figures = {
                "needed forwarded": 100 * statistics.fmean(found for found, _, _ in answered),
                "tools": statistics.fmean(count for _, count, _ in answered),
                "offered": statistics.fmean(len(tools) for _, tools, _ in asked),
                "tokens saved": statistics.fmean(saved for _, _, saved in answered)
                / _CHARACTERS_A_TOKEN,
            }
            for label, value in figures.items():
                yield Figure(name=label, value=value, unit="", row=(name, way))


def _best(catalog: Catalog, text: str, score: baselines.Scores) -> list[str]:
    scores = score(text)
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    return [list(catalog.tools)[index] for index in order[:_FIXED]]


def _with_candidates(
    folder: Path,
) -> Iterator[tuple[str, list[dict[str, Any]], list[list[str]]]]:
    """Requests of the evaluation half that bring their own tools: text, tools, groups of gold."""
    lines = (folder / "tools.jsonl").read_text(encoding="utf-8").splitlines()
    tools = {tool.get("function", tool)["name"]: tool for tool in map(json.loads, lines)}
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        candidates = query.get("candidates")
        gold = query.get("gold_groups") or [[name] for name in query.get("gold", ())]
        if query.get("split") != "eval" or not candidates or not gold:
            continue
        offered = [tools[name] for name in candidates]
        yield query["query"], [_as_chat(tool) for tool in offered], gold


def _as_chat(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": tool.get("function", tool)}
