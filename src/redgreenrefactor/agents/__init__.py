"""Who works in a phase: each module turns one kind of program or script into fresh sessions."""
