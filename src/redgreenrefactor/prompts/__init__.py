"""What sessions are told: one Markdown file a role, and what renders a brief."""
