"""The pruner on the wire: a proxy in front of any model, and an httpx transport that does the same.

What is chosen, and why, is computed in `orchestrator.pruning`; here requests are passed on.
"""
