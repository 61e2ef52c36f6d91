"""Speed of routing: requests over synthetic catalogs of growing size.

The tools come from a seeded grammar: verbs and nouns of trades, and made-up product names with a
long tail, so that common words are as common and rare ones as rare as in real catalogs.

Time is the processor's where a piece of work has it to itself, so that a busy machine shows in it
as little as may be; beside busy threads it is time on the wall.
"""

import gc
import random
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Any, Final, TypeVar

import numpy as np

from orchestrator.adapters.embedding.built_in import BuiltInEmbedder, similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.cards.capability_card import CardCache
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.sparse_index import Floats
from tests.benchmarks.figure import Figure

_T = TypeVar("_T")

SIZES: Final = (51, 1_000, 10_000, 50_000)
SEED: Final = 20_240_601
_REQUESTS = 300
_ROUNDS = 10
_NOW = datetime(2026, 11, 20, 9, 30)
_BUSY_SIZE = 1_000
_BUSY_THREADS = 3
_BUSY_REQUESTS = 100
OWN_SIZES: Final = (1, 5, 10, 20, 40)
"""Tools of a catalog that a request brings along."""
_OWN_CATALOGS = 40

_VERB_WORDS = """
    search find list get show create book order cancel delete update send post pay refund
    check compare convert translate schedule track upload download approve archive
"""
_VERBS: Final = _VERB_WORDS.split()
_NOUN_WORDS = """
    flight hotel room car train ticket order invoice payment refund customer account
    message email event meeting calendar task project file folder image video song
    playlist movie actor review recipe restaurant table menu product basket coupon
    shipment parcel address weather forecast stock quote currency rate news article job
    candidate contract claim policy patient appointment prescription course student exam
    device sensor alarm light route station parking bike
"""
_NOUNS: Final = _NOUN_WORDS.split()
_QUALIFIER_WORDS = """
    available upcoming nearby popular open paid overdue daily monthly historical detailed
    similar shared personal corporate international
"""
_QUALIFIERS: Final = _QUALIFIER_WORDS.split()
_INPUTS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("city", {"type": "string", "description": "Name of the city"}),
    ("date", {"type": "string", "format": "date", "description": "Day in ISO form"}),
    ("start_time", {"type": "string", "description": "When it begins"}),
    ("email", {"type": "string", "format": "email", "description": "Where to write to"}),
    ("amount", {"type": "number", "description": "How much money"}),
    ("currency", {"type": "string", "enum": ["EUR", "USD", "GBP"]}),
    ("limit", {"type": "integer", "default": 10, "description": "Most results to return"}),
    ("query", {"type": "string", "description": "Words to look for"}),
    ("account_id", {"type": "string", "description": "Which account it belongs to"}),
    ("language", {"type": "string", "description": "Language of the answer"}),
)
_NOTE = "each request's best of {} rounds over all requests"
_CITIES = ("Lisbon", "Rome", "Porto", "Vienna", "Oslo", "New York")
_DAYS = ("tomorrow", "on 2026-12-03", "next Friday", "on the 3rd of December")


class Grammar:
    """Tools and requests about them, the same ones for the same seed."""

    def __init__(self, size: int, seed: int = SEED) -> None:
        """Words for `size` tools; about one brand for each forty of them."""
        self._random = random.Random(seed)
        self._brands = [self._brand() for _ in range(max(2, size // 40))]
        self._tail = list(accumulate(1 / (rank + 1) for rank in range(len(_NOUNS))))
        self.tools = [self._tool(number) for number in range(size)]

    def requests(self, count: int) -> list[str]:
        """Requests of one clause, and each fourth of two."""
        return [self._request(number) for number in range(count)]

    def _brand(self) -> str:
        syllables = ("zor", "vel", "qui", "tam", "lex", "nor", "pia", "dro", "mik", "sun", "ber")
        return "".join(self._random.choices(syllables, k=3))

    def _noun(self) -> str:
        return self._random.choices(_NOUNS, cum_weights=self._tail)[0]

    def _tool(self, number: int) -> dict[str, Any]:
        choose = self._random.choice
        brand, verb, noun, other = choose(self._brands), choose(_VERBS), self._noun(), self._noun()
        inputs = dict(self._random.sample(_INPUTS, self._random.randint(1, 5)))
        inputs[f"{noun}_id"] = {"type": "string", "description": f"Id of the {noun}"}
        return {
            "name": f"{brand}_{verb}_{noun}_{number}",
            "description": (
                f"{verb.capitalize()} {choose(_QUALIFIERS)} {noun}s of {brand.capitalize()}. Use"
                f" this to {verb} a {noun} with its {other}; returns the {noun} and its status."
            ),
            "domain": brand,
            "parameters": {
                "type": "object",
                "properties": inputs,
                "required": sorted(self._random.sample(sorted(inputs), min(2, len(inputs)))),
            },
        }

    def _request(self, number: int) -> str:
        text = self._clause()
        return f"{text} and then {self._clause().lower()}" if number % 4 == 3 else text

    def _clause(self) -> str:
        choose = self._random.choice
        name = choose(self.tools)["name"].split("_")
        text = f"{name[1].capitalize()} the {choose(_QUALIFIERS)} {name[2]} of {name[0]}"
        return (
            f"{text} in {choose(_CITIES)} {choose(_DAYS)} for {self._random.randint(20, 900)} EUR"
        )


def run() -> list[Figure]:
    """Every figure of routing speed."""
    figures = [f for size in SIZES for f in (*route_figures(size), *vector_figures(size))]
    own = [figure for size in OWN_SIZES for figure in own_figures(size)]
    return [*figures, *own, *busy_figures(_BUSY_SIZE)]


def route_figures(size: int) -> list[Figure]:
    """Latencies at one size, and the index's cost."""
    grammar = Grammar(size)
    catalog = Catalog.from_functions(grammar.tools)
    seconds, size_bytes, router = _built(lambda: Router(catalog))
    work = [partial(router.route, text, now=_NOW) for text in grammar.requests(_REQUESTS)]
    return [
        *_latencies(f"route at {size:,} tools", _seconds(work, _ROUNDS)),
        Figure(name=f"index build at {size:,} tools", value=seconds * 1e6 / size, unit="us/tool"),
        Figure(name=f"index memory at {size:,} tools", value=size_bytes / size, unit="B/tool"),
    ]


def vector_figures(size: int) -> list[Figure]:
    """What the built-in embedder adds at one size: latencies with it, and its own index's cost."""
    grammar = Grammar(size)
    catalog = Catalog.from_functions(grammar.tools)
    BuiltInEmbedder().embed([""])  # reads the files, once in a process
    seconds, size_bytes, near = _built(lambda: similarity_in_process()(catalog))
    router = Router(catalog, similarity=near)
    work = [partial(router.route, text, now=_NOW) for text in grammar.requests(_REQUESTS)]
    return [
        *_latencies(f"route with vectors at {size:,} tools", _seconds(work, _ROUNDS)),
        Figure(
            name=f"vectors' build at {size:,} tools", value=seconds * 1e6 / size, unit="us/tool"
        ),
        Figure(name=f"vectors' memory at {size:,} tools", value=size_bytes / size, unit="B/tool"),
    ]


def own_figures(size: int) -> list[Figure]:
    """A catalog that comes with its request, built and routed over, with vectors.

    Each time with other tools, of which no word was read before except by chance; with tools that
    were seen in another order, so that cards and pieces are known.
    """
    BuiltInEmbedder().embed([""])
    seconds = np.zeros((_OWN_CATALOGS, 2))
    for number, row in enumerate(seconds):
        grammar = Grammar(size, SEED + number)
        tools, request = grammar.tools, grammar.requests(1)[0]
        make = partial(_router, similarity_in_process(), CardCache())
        brought = (tools, [*tools[1:], *tools[:1]])
        works = [partial(_routed, make, functions, request) for functions in brought]
        gc.collect()
        row[:] = [_taken(work) for work in works]
    name = f"own catalog of {size} tools, built and routed"
    figures = []
    for column, case in enumerate(("never seen", "seen in another catalog")):
        percentiles = np.percentile(seconds[:, column], [50, 90]).tolist()
        for percent, value in zip((50, 90), percentiles, strict=True):
            figures.append(
                Figure(
                    name=f"{name}: {case}, p{percent}",
                    value=value * 1000,
                    unit="ms",
                    note=f"{_OWN_CATALOGS} catalogs, once each",
                )
            )
    return figures


def _router(
    similarity: Callable[[Catalog], CardSimilarity], cards: CardCache, catalog: Catalog
) -> Router:
    return Router(catalog, similarity=similarity(catalog), cards=cards)


def _routed(
    make: Callable[[Catalog], Router], functions: Sequence[dict[str, Any]], request: str
) -> None:
    make(Catalog.from_functions(functions)).route(request, now=_NOW)


def busy_figures(size: int) -> list[Figure]:
    """Measure a routing while other threads of the process compute."""
    grammar = Grammar(size)
    router = Router(Catalog.from_functions(grammar.tools))
    work = [partial(router.route, text, now=_NOW) for text in grammar.requests(_BUSY_REQUESTS)]
    _seconds(work, 1)
    with _busy_threads(_BUSY_THREADS):
        seconds = _seconds(work, 1, clock=time.perf_counter)
    name = f"route at {size:,} tools beside {_BUSY_THREADS} busy threads"
    shares = zip((50, 99), np.percentile(seconds, [50, 99]).tolist(), strict=True)
    return [
        Figure(name=f"{name}, p{percent}", value=value * 1000, unit="ms", note="all runs")
        for percent, value in shares
    ]


@contextmanager
def _busy_threads(count: int) -> Iterator[None]:
    """Keep so many threads computing."""
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=compute) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _built(build: Callable[[], _T]) -> tuple[float, int, _T]:
    """Seconds without and bytes with the memory tracer on, which slows building down."""
    Router(Catalog.from_functions(Grammar(1).tools))  # loads what the first router loads
    gc.collect()
    seconds = _taken(build)
    gc.collect()
    tracemalloc.start()
    built = build()
    gc.collect()
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, size_bytes, built


def _seconds(
    work: Sequence[Callable[[], object]],
    rounds: int,
    *,
    clock: Callable[[], float] = time.process_time,
) -> Floats:
    """What each piece takes, round after round; shape (rounds, n_pieces).

    The runs of one piece lie apart, so that what slows the machine for a moment slows few of them.
    """
    seconds = np.zeros((rounds, len(work)))
    for row in seconds:
        for number, piece in enumerate(work):
            row[number] = _taken(piece, clock)
    return seconds


def _taken(piece: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    piece()
    return clock() - start


def _latencies(name: str, seconds: Floats) -> list[Figure]:
    """The percentiles of the pieces at their best, and of all runs, whatever disturbed them."""
    p50, p99 = np.percentile(seconds.min(axis=0), [50, 99]).tolist()
    note = _NOTE.format(len(seconds))
    return [
        Figure(name=f"{name}, p50", value=p50 * 1000, unit="ms", note=note),
        Figure(name=f"{name}, p99", value=p99 * 1000, unit="ms", note=note),
        Figure(
            name=f"{name}, p99 of all runs",
            value=float(np.percentile(seconds, 99)) * 1000,
            unit="ms",
            note="none left out",
        ),
    ]
