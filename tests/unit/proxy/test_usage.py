"""The figures of a proxy, and the page that shows them."""

from html.parser import HTMLParser

from orchestrator.language.intent import IntentFrame
from orchestrator.proxy.proxy_app import Exchange, record_of_exchange, report_page
from orchestrator.pruning.pruner import Pruned
from orchestrator.routing.learning.trace import ProxyUsage, usage_of
from orchestrator.routing.selection import Selection

WEATHER = Selection(
    tools=("weather",),
    k=1,
    band="crisp",
    reason="one request",
    frame=IntentFrame(objects=("planted-londinium",)),
    catalog_size=40,
)


def exchange(*called: str) -> Exchange:
    pruned = Pruned(
        body=b"planted-londinium",
        offered=40,
        forwarded=2,
        routing="semantic",
        kept=(0, 3),
        names=frozenset({"weather", "always"}),
        saved_characters=400,
        selection=WEATHER,
    )
    return Exchange(pruned, called, 0.002)


def test_a_record_tells_nothing_that_was_said() -> None:
    record = record_of_exchange(exchange("weather"))

    assert record is not None
    assert "planted" not in record.model_dump_json()
    assert (record.offered, record.forwarded, record.stayed) == (40, 2, ("always",))
    assert (record.tokens_saved, record.overhead_ms) == (100, 2.0)
    assert record_of_exchange(Exchange(Pruned(body=b""), (), 0)) is None


def test_what_was_not_chosen_from_is_counted() -> None:
    """A request that could not be read, and one whose list took too long."""
    late = Pruned(body=b"", offered=40, routing="fail_open", kept=(*range(40),))
    passed = (Exchange(Pruned(body=b"", routing="unread"), (), 0), Exchange(late, (), 0))
    usage = usage_of([record for one in passed if (record := record_of_exchange(one))])

    assert (usage.requests, usage.unread, usage.fail_open) == (1, 1, 1.0)
    assert usage.mean_forwarded == 40


def test_usage_counts_what_was_called_and_had_been_forwarded() -> None:
    exchanges = exchange("weather"), exchange("always", "music"), exchange()
    records = [record for one in exchanges if (record := record_of_exchange(one))]
    usage = usage_of(records)

    assert (usage.requests, usage.calls) == (3, 3)
    assert usage.recall is not None
    assert round(usage.recall, 3) == 0.667
    assert (usage.mean_offered, usage.mean_forwarded) == (40, 2)
    assert usage.tokens_saved == 300
    assert usage.fail_open == 0
    assert usage.overhead_p99_ms == 2
    assert usage.widths == {2: 3}
    assert usage_of([]) == ProxyUsage()


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_shows_figures_and_charts_without_a_script() -> None:
    usage = ProxyUsage(requests=1_234, recall=0.98, widths={1: 3, 4: 1}, bands={"<b>": 4})
    page = _Texts()
    page.feed(report_page(usage))

    assert {"1,234", "98.0%", "<b>"} <= set(page.texts)
    assert page.tags.count("rect") == 3
    assert not {"script", "link", "img", "b"} & set(page.tags)
    empty = _Texts()
    empty.feed(report_page(ProxyUsage()))
    assert "No request with tools has passed yet." in empty.texts
