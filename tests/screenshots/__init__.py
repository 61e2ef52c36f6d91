"""Pictures of the Temporal UI for docs/observing.md, taken of real missions."""
