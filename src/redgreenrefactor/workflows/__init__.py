"""The workflows: tables that the one engine walks through."""
