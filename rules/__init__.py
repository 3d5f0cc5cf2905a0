"""Floor 1: decisions. Pure functions of policy, snapshot, event and now; no I/O."""
