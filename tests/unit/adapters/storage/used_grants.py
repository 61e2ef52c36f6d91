"""Opening a store, and using up a grant in one, for tests that need some row of it."""

from collections.abc import Callable

from orchestrator.adapters.storage.protocols import SentCall
from orchestrator.adapters.storage.store import Store
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation

OpenStore = Callable[[], Store]


def use_grant(store: Store, digest: str, user: str) -> str | None:
    """Who used the grant before; None when nobody had, and `user` does now."""
    (before,) = store.grants.send(SentCall("m.1-leg.1", "m", user, (digest,), Ledger())).used_by
    return before


def leaving(obligation: Obligation, user: str = "u") -> SentCall:
    """A call without a grant that is about to leave this."""
    ledger, mission_id = Ledger(obligations=(obligation,)), obligation.mission_id
    return SentCall(obligation.obligation_id, mission_id, user, (), ledger)
