"""Judge models score finished conversations of two models, and compare two that differ in one model."""
