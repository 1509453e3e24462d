"""The requirements on clients that can be seen by a server: scenarios, and judges of what a client did in them."""
