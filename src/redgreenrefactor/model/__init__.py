"""Frozen values that everything else speaks in; standard library only, no input or output."""
