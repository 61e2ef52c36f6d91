"""Records of what passed the proxy: names of tools, numbers, and no word of any request."""

import uuid
from concurrent.futures import ThreadPoolExecutor

from orchestrator.adapters.storage.route_traces import RouteTraces
from orchestrator.proxy.proxy_app import Exchange
from orchestrator.routing.learning.trace import RouteRecord, record_of

_CHARACTERS_A_TOKEN = 4


class ExchangeRecorder:
    """Writes a record of each exchange, beside the loop and in its order."""

    def __init__(self, traces: RouteTraces) -> None:
        """Write to these."""
        self._traces = traces
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="route-traces")

    def __call__(self, exchange: Exchange) -> None:
        """Record an exchange, if tools were chosen in it."""
        if (record := record_of_exchange(exchange)) is not None:
            self._writer.submit(self._traces.record, record)

    def close(self) -> None:
        """Wait for what is being written."""
        self._writer.shutdown()


def record_of_exchange(exchange: Exchange) -> RouteRecord | None:
    """What is kept of an exchange; None where there were no tools to choose from."""
    pruned = exchange.pruned
    if pruned.selection is None:
        return None
    record = record_of(
        pruned.selection,
        mission_id=f"proxy-{uuid.uuid4().hex}",
        called=tuple((name,) for name in exchange.called),
    )
    told = {
        "mode": pruned.mode,
        "offered": pruned.offered,
        "forwarded": len(pruned.kept),
        "stayed": tuple(sorted(pruned.names.difference(pruned.selection.tools))),
        "tokens_saved": pruned.saved_characters // _CHARACTERS_A_TOKEN,
        "overhead_ms": round(exchange.overhead_s * 1000, 2),
    }
    return record.model_copy(update=told)
