"""Whether a call does what was said: what a goal names against what the call takes.

One rule for every planner, applied where a call is prepared. Nothing here knows a provider.
"""
