"""Front-ends against real servers on this machine."""
