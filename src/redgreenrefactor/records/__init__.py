"""Events become files that people and scripts read."""
