"""One outside system per module: HTTP providers, secrets, personal data, stored catalogs."""
