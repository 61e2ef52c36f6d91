"""The planner over a model: its prompt, its briefing, its meta tools, and the requests."""
