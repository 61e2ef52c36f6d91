"""AgentDojo's injections through a whole installation; see docs/planning.md."""
