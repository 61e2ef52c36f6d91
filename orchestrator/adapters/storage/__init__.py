"""What is kept on disk: catalogs, grants, personal values, vectors, traces."""
