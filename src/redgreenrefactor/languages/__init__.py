"""What a source says by its text alone: its tests, assertions, stubs; which file is what; what a manifest decides."""
