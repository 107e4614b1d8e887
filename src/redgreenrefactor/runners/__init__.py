"""The project's tests: which command runs them, and what a run of them tells."""
