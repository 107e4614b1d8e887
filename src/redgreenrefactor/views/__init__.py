"""What people see: events and handoffs as text; the only place that prints."""
