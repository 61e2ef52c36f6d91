"""AgentDojo's side: run by an environment of its own, it knows nothing of the orchestrator."""
