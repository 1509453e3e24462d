"""Program `mcp-cli`, also `conductor call`."""
