"""The loop: an engine that walks through a table of phases, and the lab that answers its gates."""
