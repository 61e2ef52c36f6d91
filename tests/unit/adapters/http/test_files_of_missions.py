"""Files that a mission receives: kept under a handle, sent on by it, and told of to people."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import ObservationStore
from orchestrator.adapters.storage.sql_observations import MissionFiles, SqlObservations
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect
from orchestrator.core.errors import ArgumentsInvalid, StateMissing
from orchestrator.core.received_files import handle_of_bytes
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryObservations, MemoryPii, MemorySecrets
from tests.unit.adapters.http.one_operation import called, catalog_of

LABELS = Path(__file__).parents[3] / "documents" / "labels.yaml"
PDF = b"%PDF-1.7\n\x00\xff\xfe label"
HANDLE = handle_of_bytes(PDF)
TICKET: JsonObject = {"subject": "torn", "document": HANDLE}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The tools of a print shop and its help desk."""
    return Catalog.load(LABELS)


class Shop:
    """The shop's server, which remembers what it was sent."""

    def __init__(self, catalog: Catalog, tools: ToolClient, store: MemoryObservations) -> None:
        self.catalog, self.tools, self.store = catalog, tools, store
        self.sent: list[httpx.Request] = []

    async def call(
        self, tool: str, arguments: JsonObject, *, mission_id: str = "m-1", **changes: Any
    ) -> ToolOutcome:
        return await self.tools.call(
            self.catalog,
            self.catalog.tool(tool).model_copy(update=changes),
            arguments,
            call_id="m-1.leg.1",
            idempotency_key=None,
            timeout_s=5,
            mission_id=mission_id,
        )

    async def download(self, **more: Any) -> ToolOutcome:
        return await self.call("label_download", {"label_id": "L-1"}, **more)

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of the last request, by their names."""
        last = self.sent[-1]
        head = f"Content-Type: {last.headers['content-type']}\r\n\r\n".encode()
        message: Any = BytesParser(policy=HTTP).parsebytes(head + last.content)
        return {p.get_param("name", header="content-disposition"): p for p in message.iter_parts()}


Opened = Callable[..., Any]


@pytest.fixture
def opened(catalog: Catalog) -> Opened:
    """Opens the shop; what it answers a download with, and what the client is made of."""

    @asynccontextmanager
    async def at(
        content: bytes = PDF, headers: dict[str, str] | None = None, **options: Any
    ) -> AsyncIterator[Shop]:
        def answer(request: httpx.Request) -> httpx.Response:
            shop.sent.append(request)
            if request.method == "GET":
                told = {"content-type": "application/pdf"} if headers is None else headers
                return httpx.Response(200, headers=told, stream=httpx.ByteStream(content))
            made = b'{"ticket_id": "T-000001", "stamp_id": "1"}'
            told = {"content-type": "application/json"}
            return httpx.Response(201, headers=told, stream=httpx.ByteStream(made))

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        store = MemoryObservations()
        options = {"files": MissionFiles(store), **options}
        async with ToolClient(
            secrets=MemorySecrets({}), pii=MemoryPii({}), http=http, **options
        ) as tools:
            shop = Shop(catalog, tools, store)
            yield shop

    return at


def named(name: str) -> dict[str, str]:
    """The headers of a PDF with this name, encoded."""
    disposition = f"attachment; filename*=UTF-8''{name}"
    return {"content-type": "application/pdf", "content-disposition": disposition}


async def test_a_file_is_kept_and_told_by_its_handle(opened: Opened) -> None:
    """What a planner, a history and a person see is the handle, with name, type and size.

    A call of no mission keeps nothing: nobody could use it, and nothing would remove it.
    """
    async with opened() as shop:
        assert "file" not in (await shop.download(mission_id="")).body
        assert not shop.store.missions()
    async with opened(headers=named("..%2Fl%E2%80%AEabel.pdf")) as shop:
        outcome = await shop.download()
        again = await shop.download()

        told = {"name": "label.pdf", "content_type": "application/pdf", "bytes": len(PDF)}
        assert (outcome.kind, outcome.body) == ("succeeded", {"file": HANDLE, **told})
        assert again.body == outcome.body
        received, content = MissionFiles(shop.store).read("m-1", HANDLE) or (None, b"")
        assert content == PDF
        assert received is not None
        assert received.name == "label.pdf"


async def test_a_file_that_is_too_large_is_told_and_not_kept(opened: Opened) -> None:
    """With its size, its digest and the reason; what was done by the call stands.

    Its limit is its own: it may be larger than other answers.
    """
    async with opened(b"\xff" * 2_000, max_file_bytes=1_999) as shop:
        outcome = await shop.download()

        assert outcome.kind == "succeeded"
        assert outcome.body["bytes"] == 2_000
        assert "larger than 1,999 bytes" in outcome.body["not_kept"]
        assert "file" not in outcome.body
    large = bytes(range(256)) * 8_000
    async with opened(large) as shop:
        assert (await shop.download()).body["file"] == handle_of_bytes(large)


async def test_a_file_that_cannot_be_kept_now_is_asked_for_again(opened: Opened) -> None:
    """It changes nothing to read it once more."""
    async with opened() as shop:
        shop.store.is_full = True

        with pytest.raises(StateMissing):
            await shop.download()
        shop.store.is_full = False
        assert (await shop.download()).body["file"] == HANDLE


async def test_a_file_goes_out_as_a_part(opened: Opened) -> None:
    """With its bytes, its type and its name; the card tells type, size and digest before."""
    async with opened(headers=named("l%C3%A4bel.pdf")) as shop:
        await shop.download()
        tool = shop.catalog.tool("ticket_open")
        pinned = await shop.tools.pin(shop.catalog, tool, TICKET, mission_id="m-1")
        (told,) = [str(file) for file in pinned.files]
        assert told.endswith(f"application/pdf, {len(PDF)} bytes, SHA-256 {HANDLE[-64:]}")

        assert (await shop.call("ticket_open", TICKET)).kind == "succeeded"
        part = shop.parts["document"]
        assert part.get_payload(decode=True) == PDF
        assert part.get_content_type() == "application/pdf"
        assert part.get_filename() == "läbel.pdf"


async def test_a_file_goes_out_as_text_in_base64(opened: Opened) -> None:
    """Where the document says `byte`, however deep."""
    async with opened() as shop:
        await shop.download()
        await shop.call("stamp_document", {"pages": [{"content": HANDLE}, {"content": "QUJD"}]})

        text = base64.b64encode(PDF).decode()
        pages = [{"content": text}, {"content": "QUJD"}]
        assert json.loads(shop.sent[-1].content) == {"pages": pages}


@pytest.mark.parametrize("whose", ["another mission's", "made up"])
async def test_a_mission_has_its_own_files_only(opened: Opened, whose: str) -> None:
    """Nothing is sent by a handle of another mission, or by one that nobody received."""
    async with opened() as shop:
        if whose == "another mission's":
            await shop.download(mission_id="m-2")
            shop.sent.clear()

        with pytest.raises(ArgumentsInvalid, match="has not received"):
            await shop.call("ticket_open", TICKET)
        tool = shop.catalog.tool("ticket_open")
        pinned = await shop.tools.pin(shop.catalog, tool, TICKET, mission_id="m-1")

        assert not shop.sent
        assert "has not received" in pinned.unsendable[0]


@pytest.mark.parametrize(
    ("content", "content_type", "takes"),
    [
        (b"OggS", "audio/ogg", "application/pdf, image/png"),
        (b"%PDF" * 1_300_000, "application/pdf", "at most 5,000,000 bytes"),
    ],
    ids=["type", "size"],
)
async def test_a_file_that_its_place_does_not_take_is_refused(
    opened: Opened, content: bytes, content_type: str, takes: str
) -> None:
    """A document says of what types and of how many bytes its parts may be."""
    async with opened() as shop:
        kept = MissionFiles(shop.store).keep("m-1", content, content_type=content_type)

        with pytest.raises(ArgumentsInvalid, match=takes):
            await shop.call("ticket_open", {**TICKET, "document": kept.handle})


def test_a_handle_stands_where_a_file_belongs(catalog: Catalog) -> None:
    """Its text would mean nothing to a provider anywhere else."""
    tool = catalog.tool("ticket_open")
    (problem,) = check_arguments(catalog, tool, {"subject": HANDLE, "document": HANDLE})

    assert problem.startswith("subject is the handle of a file")


class _Died(BaseException):
    """A process that is killed runs no handler."""


class _Dying(MemoryObservations):
    """A store of observations whose process dies once, before or after it has kept something."""

    def __init__(self, store: SqlObservations, when: str) -> None:
        super().__init__()
        self._store, self._when = store, when

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Keep a piece, as far as one gets."""
        when, self._when = self._when, "not again"
        if when == "before":
            raise _Died
        is_new = self._store.put(mission_id, key, piece)
        if when == "after":
            raise _Died
        return is_new

    def get(self, mission_id: str, key: str) -> bytes:
        """A piece that was kept."""
        return self._store.get(mission_id, key)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_around_the_keeping_loses_nothing_and_sends_nothing_twice(
    tmp_path: Path, when: str
) -> None:
    """The answer has come: the same key brings it again, to one effect and one kept file."""
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    prints = {
        "x-orchet-requires-confirmation": False,
        "parameters": [key],
        "responses": {"201": {"description": "done", "content": {"application/pdf": {}}}},
    }
    catalog = catalog_of(prints)
    effects: dict[str, bytes] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        key = request.headers["Idempotency-Key"]
        made = effects.setdefault(key, PDF + str(len(effects)).encode())
        told = {"content-type": "application/pdf"}
        return httpx.Response(201, headers=told, stream=httpx.ByteStream(made))

    async def attempt(observations: ObservationStore) -> ToolOutcome:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        files = MissionFiles(observations)
        async with ToolClient(
            secrets=MemorySecrets({}), pii=MemoryPii({}), http=http, files=files
        ) as tools:
            return await called(tools, catalog, mission_id="m-1", idempotency_key="m-1.leg.1")

    with Store(tmp_path) as store:
        with pytest.raises(_Died):
            await attempt(_Dying(store.observations, when))
        outcome = await attempt(store.observations)

        assert [*effects] == ["m-1.leg.1"]
        assert outcome.body["file"] == handle_of_bytes(PDF + b"0")  # type: ignore[index, call-overload]  # JSON
        kept = MissionFiles(store.observations).read("m-1", handle_of_bytes(PDF + b"0"))
        assert kept is not None
        assert kept[1] == PDF + b"0"


async def test_an_effect_stands_whose_file_cannot_be_kept(opened: Opened) -> None:
    """What the provider did must not be lost by that; its answer says that there is no file."""
    async with opened() as shop:
        shop.store.is_full = True
        outcome = await shop.download(effect=Effect.WRITE)

        assert outcome.kind == "succeeded"
        assert outcome.body["not_kept"] == "the store was away when it came"


def test_files_go_with_what_their_mission_has_seen(tmp_path: Path) -> None:
    """Purged together, and of no other mission.

    The first description of a content stays: one handle means one thing.
    """
    with Store(tmp_path) as store:
        files = MissionFiles(store.observations)
        first = files.keep("m-1", PDF, content_type="application/pdf", name="label.pdf")
        again = files.keep("m-1", PDF, content_type="image/png", name="other.png")
        files.keep("m-2", PDF)
        store.observations.purge("m-1")

        assert again == first
        assert files.read("m-1", HANDLE) is None
        assert files.read("m-2", HANDLE) is not None
