"""The specification as checks of servers and of clients."""
