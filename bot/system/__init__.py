"""Process and machine: settings, clock, logs, secrets, files, Redis."""
