"""Large payloads in the store: whatever machine a worker runs on, it has them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from temporalio.api.common.v1 import Payload

from orchestrator.adapters.storage.payload_driver import PayloadDriver, PayloadKey
from orchestrator.adapters.storage.schema import payloads
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import StateLacking
from orchestrator.core.payload_errors import PayloadLost

NAME: Final = "orchestrator-store"


class SqlPayloads(PayloadDriver):
    """A row for each payload of a workflow.

    `ORCHESTRATOR_PAYLOAD_STORE=store`
    """

    def __init__(
        self, database: StoreDatabase, *, marked: Callable[[PayloadLost], Payload]
    ) -> None:
        """Take the store, and what is to stand in the place of what it cannot give."""
        super().__init__(database.place, marked=marked)
        self._database = database

    def name(self) -> str:
        """What references call it."""
        return NAME

    def keep(self, key: PayloadKey, content: bytes) -> None:
        """See `PayloadDriver.keep`; it is committed before this returns."""
        row = {
            "namespace": key.namespace,
            "workflow_id": key.workflow_id,
            "sha256": key.sha256,
            "content": content,
            "kept_at": datetime.now(UTC),
        }
        try:
            with self._database.write() as connection:
                connection.execute(self._database.put(payloads, "kept_at"), row)
        except StateLacking as error:
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
            with self._database.read() as connection:
                content = connection.execute(query).scalar()
        except StateLacking as error:
            raise PayloadLost(self.place, str(error)) from error
        if content is None:
            raise PayloadLost(self.place, "it is not there")
        return bytes(content)

    def workflows(self, namespace: str) -> Mapping[str, datetime]:
        """See `PayloadDriver.workflows`."""
        kept = payloads.c
        query = sa.select(kept.workflow_id, sa.func.max(kept.kept_at).label("kept_at"))
        of_namespace = query.where(kept.namespace == namespace).group_by(kept.workflow_id)
        with self._database.read() as connection:
            return {workflow_id: at for workflow_id, at in connection.execute(of_namespace)}

    def purge(self, namespace: str, workflow_id: str) -> None:
        """See `PayloadDriver.purge`."""
        kept = payloads.c
        of_workflow = sa.and_(kept.namespace == namespace, kept.workflow_id == workflow_id)
        with self._database.write() as connection:
            connection.execute(sa.delete(payloads).where(of_workflow))
