"""JSON and its schemas: pointers, canonical form, references, validation."""
