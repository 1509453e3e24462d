"""Work that might take too long: patterns and schemas that others wrote, and long work in slices."""
