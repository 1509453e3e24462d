"""What a run came to, as events and as a report, and how that is shown."""
