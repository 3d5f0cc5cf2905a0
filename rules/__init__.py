"""Floor 1: what should happen. Pure functions of policy, snapshot, event and now; no I/O."""
