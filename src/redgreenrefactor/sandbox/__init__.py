"""Where foreign programs are started, and held."""
