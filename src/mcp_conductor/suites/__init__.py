"""Declarative tests of MCP servers, written in YAML."""

SUFFIXES = (".test.mcp.yml", ".test.mcp.yaml")  # of the files that have them
