"""Using up a grant in a store, for tests that need some row of it."""

from orchestrator.adapters.storage.protocols import SentCall
from orchestrator.adapters.storage.store import Store
from orchestrator.saga.ledger import Ledger


def use_grant(store: Store, digest: str, user: str) -> str | None:
    """Who used the grant before; None when nobody had, and `user` does now."""
    (before,) = store.grants.send(SentCall("m.1-leg.1", "m", user, (digest,), Ledger())).used_by
    return before
