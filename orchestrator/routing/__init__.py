"""Select the few tools that the planner should see for a request: frame, score, adaptive K."""
