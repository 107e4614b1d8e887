"""Git, spelled in one place: objects, the workspace, and the ledger of handoffs."""
