"""The operations of the HTTP API, a module for each kind of thing."""
