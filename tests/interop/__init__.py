"""How third-party documents fare: read, compiled, linted, and called at an independent server."""
