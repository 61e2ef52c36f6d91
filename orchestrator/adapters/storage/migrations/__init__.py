"""How the tables of a store came to be: Alembic's revisions, oldest first, and never edited."""
