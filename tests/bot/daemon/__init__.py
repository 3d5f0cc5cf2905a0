"""Groups of processes, and the servers and workers in them."""
