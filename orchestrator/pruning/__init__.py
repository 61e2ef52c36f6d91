"""The router in front of any model: reduces a request with all tools to the few that fit.

It reads the formats of OpenAI's chat completions and responses and of Anthropic's messages. Nothing
here uses HTTP; `orchestrator.proxy` does.
"""
