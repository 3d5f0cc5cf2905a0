"""Containers of the Docker backend, each locked, labelled and bounded: engine, cells, seeds."""
