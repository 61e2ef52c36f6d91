"""The chaos kit: missions under planned faults, judged by the ledger of their providers.

`scenarios` and `verdicts` are pure; the other modules run real missions on a real server with real
worker processes. Everything that happens to mission i derives from `Random(f"{seed}:{i}")`, so that
one mission can be repeated alone.
"""
