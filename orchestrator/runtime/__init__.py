"""Processes: the worker, the local installation, the demo."""
