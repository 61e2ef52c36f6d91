"""Vectors for the router, from the embedder in the settings, else the built-in one."""

from collections.abc import Callable

from orchestrator.adapters.embedding.built_in import (
    BUILT_IN,
    NO_EMBEDDER,
    BuiltInEmbedder,
    similarity_in_process,
)
from orchestrator.adapters.embedding.embedders import similarity_by
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.scoring.embedding import CardSimilarity, Embedder
from orchestrator.settings import Settings


def embedder_of(named: str | None, settings: Settings) -> Embedder | None:
    """Return the embedder of a setting: the built-in one for None, no embedder for `none`."""
    if named == NO_EMBEDDER:
        return None
    if named in (None, BUILT_IN):
        return BuiltInEmbedder()
    from orchestrator.runtime.extensions import load_embedder

    return load_embedder(named, settings)


def similarity_of(
    embedder: Embedder | None, *, timeout_s: float
) -> Callable[[Catalog], CardSimilarity] | None:
    """Return the similarity of a catalog's cards by an embedder; None without one.

    Only the built-in one is called without a time limit.
    """
    if embedder is None:
        return None
    if isinstance(embedder, BuiltInEmbedder):
        return similarity_in_process(embedder)
    return similarity_by(embedder, timeout_s=timeout_s)
