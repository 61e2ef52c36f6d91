"""Vectors of texts, from a local model or an endpoint, within a time limit."""
