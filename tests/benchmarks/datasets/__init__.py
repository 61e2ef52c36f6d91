"""Public sets of requests and tools, made from their repositories at named commits."""
