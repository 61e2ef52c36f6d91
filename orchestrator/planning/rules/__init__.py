"""Plans simple goals by rules: split, route, fill, chain, choose, account, match, answer."""
