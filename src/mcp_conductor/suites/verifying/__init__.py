"""Holding a server against a recording: the client's side is played, and what comes is compared."""
