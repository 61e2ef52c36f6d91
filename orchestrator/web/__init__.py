"""The door for people: the HTTP API and the inbox, one stateless process next to Temporal."""
