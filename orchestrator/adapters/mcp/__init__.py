"""MCP servers: their tools listed, and called with the outcomes of a call over HTTP."""
