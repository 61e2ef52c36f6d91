"""From scores to the tools that are forwarded: how sure, and how many."""
