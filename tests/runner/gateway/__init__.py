"""The gateway: model calls, network, board tools."""
