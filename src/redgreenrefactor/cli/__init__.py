"""The commands, a module a group; what they need is imported when one is called."""
