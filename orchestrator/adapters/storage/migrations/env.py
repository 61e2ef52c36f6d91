"""Run by Alembic: revisions are applied on the connection that it was given, in its transaction."""

from alembic import context

from orchestrator.adapters.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
