"""Task files: one or several, from the start or from where they stand."""
