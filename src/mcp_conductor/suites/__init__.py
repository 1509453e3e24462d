"""Declarative tests of MCP servers, written in YAML."""
