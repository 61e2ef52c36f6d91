"""What gives the router vectors: what the settings name, else the built-in embedder."""

from collections.abc import Callable

from orchestrator.adapters.embedding.built_in import (
    BUILT_IN,
    NO_EMBEDDER,
    BuiltInEmbedder,
    similarity_in_process,
)
from orchestrator.adapters.embedding.similarity import similarity_by
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.stores import store_of
from orchestrator.routing.scoring.embedding import CardSimilarity, Embedder, VectorStore
from orchestrator.settings import Settings


def embedder_of(named: str | None, settings: Settings) -> Embedder | None:
    """What a setting names: the built-in embedder when None, no embedder for `none`.

    Raises:
        UsageError: it names no embedder, or the library of that is not installed.
    """
    if named == NO_EMBEDDER:
        return None
    if named in (None, BUILT_IN):
        return BuiltInEmbedder()
    from orchestrator.runtime.extensions import load_embedder  # loads an HTTP client

    return load_embedder(named, settings)


def similarity_of(
    embedder: Embedder | None,
    settings: Settings,
    *,
    timeout_s: float,
    vectors: VectorStore | None = None,
) -> Callable[[Catalog], CardSimilarity] | None:
    """What sees a catalog's cards as an embedder does; None without one.

    Args:
        embedder: the built-in one is asked in place, any other within its time.
        settings: which store is used where none is given.
        timeout_s: how long a request waits for another than the built-in one.
        vectors: where vectors of cards are kept.
    """
    if embedder is None:
        return None
    if isinstance(embedder, BuiltInEmbedder):
        return similarity_in_process(embedder)
    kept = vectors or store_of(settings).vectors
    return similarity_by(embedder, kept, timeout_s=timeout_s)
