"""Files that people write: read, understood with the place of each value, and written whole or not at all."""
