"""The Temporal server: reading histories, starting workflows, converting payloads."""
