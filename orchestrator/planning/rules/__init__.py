"""The planner without a model: from clauses to tools to arguments to what produces them."""
