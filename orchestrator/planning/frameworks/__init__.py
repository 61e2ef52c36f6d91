"""Agents of other frameworks as planners: run for one step, their first call is the decision."""
