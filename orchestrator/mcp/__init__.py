"""Missions and guarded tools for MCP clients, over the functions that the HTTP API uses too."""
