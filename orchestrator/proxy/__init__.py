"""The pruner on the wire: a proxy in front of any model, and an equivalent httpx transport.

`orchestrator.pruning` chooses the tools; this package forwards requests.
"""
