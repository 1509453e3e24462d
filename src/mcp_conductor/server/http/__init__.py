"""HTTP for a composed server: connections, sessions, streams; Streamable HTTP and HTTP+SSE."""
