"""The requirements on servers that can be seen on the wire: one module for each section of the specification."""
