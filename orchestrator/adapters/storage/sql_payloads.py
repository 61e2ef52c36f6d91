"""Large payloads in the store, for workers of any machine."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from temporalio.api.common.v1 import Payload

from orchestrator.adapters.storage.payload_driver import PayloadDriver, PayloadKey
from orchestrator.adapters.storage.schema import payloads
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import PayloadLost, StateMissing

NAME: Final = "orchestrator-store"


class SqlPayloads(PayloadDriver):
    """A row for each payload of a workflow.

    `ORCHESTRATOR_PAYLOAD_STORE=store`
    """

    def __init__(
        self, database: StoreDatabase, *, marked: Callable[[PayloadLost], Payload]
    ) -> None:
        super().__init__(database.place, marked=marked)
        self._database = database

    def name(self) -> str:
        """Return the driver name that references contain."""
        return NAME

    def keep(self, key: PayloadKey, content: bytes) -> None:
        """See `PayloadDriver.keep`; committed before this returns."""
        row = {
            "namespace": key.namespace,
            "workflow_id": key.workflow_id,
            "sha256": key.sha256,
            "content": content,
            "kept_at": datetime.now(UTC),
        }
        try:
            self._database.run(self._database.put(payloads, "kept_at"), row)
        except StateMissing as error:
            raise PayloadLost(self.place, str(error)) from error

    def read(self, key: PayloadKey) -> bytes:
        """See `PayloadDriver.read`."""
        kept = payloads.c
        query = sa.select(kept.content).where(
            kept.namespace == key.namespace,
            kept.workflow_id == key.workflow_id,
            kept.sha256 == key.sha256,
        )
        try:
            found = self._database.fetch(query)
        except StateMissing as error:
            raise PayloadLost(self.place, str(error)) from error
        if not found:
            raise PayloadLost(self.place, "it is not there")
        return bytes(found[0].content)

    def workflows(self, namespace: str) -> Mapping[str, datetime]:
        """See `PayloadDriver.workflows`."""
        kept = payloads.c
        query = sa.select(kept.workflow_id, sa.func.max(kept.kept_at).label("kept_at"))
        of_namespace = query.where(kept.namespace == namespace).group_by(kept.workflow_id)
        return {workflow_id: at for workflow_id, at in self._database.fetch(of_namespace)}

    def purge(self, namespace: str, workflow_id: str) -> None:
        """See `PayloadDriver.purge`."""
        kept = payloads.c
        of_workflow = sa.and_(kept.namespace == namespace, kept.workflow_id == workflow_id)
        self._database.run(sa.delete(payloads).where(of_workflow))
