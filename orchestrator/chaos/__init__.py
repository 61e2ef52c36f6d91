"""The chaos kit: missions under planned faults, judged by what the providers really hold.

`scenarios` and `verdicts` are pure; the modules beside them run real missions on a real server with
real worker processes. Everything that happens to mission i follows from `Random(f"{seed}:{i}")`, so
that one mission can be run again alone.
"""
