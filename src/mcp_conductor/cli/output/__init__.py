"""What programs show: text, reports, live lines."""
