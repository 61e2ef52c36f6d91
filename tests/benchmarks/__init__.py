"""Benchmarks: measured, printed, never collected as tests."""
