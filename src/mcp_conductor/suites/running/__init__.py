"""The engine: test files run against servers, as a stream of events."""
