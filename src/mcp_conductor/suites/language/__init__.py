"""The language of test files: everything that is understood before a server starts."""
