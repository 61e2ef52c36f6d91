"""The catalog of the documents that ship, compiled once for each process that tests."""

from functools import cache

from orchestrator.catalog.catalog import Catalog
from orchestrator.settings import bundled_specs


@cache
def shipped_catalog() -> Catalog:
    """Return the catalog; it never changes, so tests may share it."""
    return Catalog.load(bundled_specs())
