"""Gateway: the only process with keys; forwards and meters models, network and board tools."""
