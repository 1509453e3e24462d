"""One conversation with one server: connected, asked, and ended."""
