"""JSON and JSON Schema: pointers, canonical text, references, the schema walker, validation."""
