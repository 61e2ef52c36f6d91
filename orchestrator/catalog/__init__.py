"""OpenAPI documents and function schemas compiled to tools, with the rules that check them."""
