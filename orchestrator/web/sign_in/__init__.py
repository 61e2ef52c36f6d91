"""Who sends a request: OpenID Connect, API tokens, access tokens, cookies."""
