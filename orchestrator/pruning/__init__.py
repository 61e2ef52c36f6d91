"""The router in front of any model: from a request with all its tools to one with the few that fit.

Three wire forms are read, each by a module of its own: OpenAI's chat completions and responses, and
Anthropic's messages. Nothing here speaks HTTP; `orchestrator.proxy` does.
"""
