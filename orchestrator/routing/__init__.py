"""From a request to the few tools the planner should see: frame, score, adaptive K."""
