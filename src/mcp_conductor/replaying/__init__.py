"""A recording as a server: requests get the answers that were recorded, with all that was said because of them."""
