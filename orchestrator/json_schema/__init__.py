"""JSON and its schemas: pointers, canonical form, references, the one walker, validation."""
