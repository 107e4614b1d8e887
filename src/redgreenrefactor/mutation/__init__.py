"""Mutants of code and of tests, and whether the tests notice them."""
