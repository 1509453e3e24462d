"""The warning of test files and servers, in a module that all parts of the plugin can import."""


class SuiteWarning(UserWarning):
    """Something about a test file or a server that is worth knowing, but not a failure."""
