"""The requirements on servers that can be seen on the wire; judges apart from probes, which tests do not need."""
