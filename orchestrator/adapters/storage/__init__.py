"""State on disk: catalogs, grants, personal values, observations, traces."""
