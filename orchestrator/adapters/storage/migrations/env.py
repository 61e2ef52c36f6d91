"""Run by Alembic: apply revisions on the given connection, in its transaction."""

from alembic import context

from orchestrator.adapters.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
