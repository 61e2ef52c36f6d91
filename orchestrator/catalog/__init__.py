"""OpenAPI documents compiled to tools: the catalog, its lint rules and its discovery index."""
