"""The backend with containers: each is locked, labelled and bounded."""
