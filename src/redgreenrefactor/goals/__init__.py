"""Outside texts become values."""
