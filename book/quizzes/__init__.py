"""Question banks, one module a chapter."""
