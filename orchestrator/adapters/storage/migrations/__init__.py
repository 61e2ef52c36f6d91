"""Alembic's revisions of a store's tables; released ones are never edited."""
