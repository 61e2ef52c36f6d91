"""Processes: the worker, the local installation and the demo."""
