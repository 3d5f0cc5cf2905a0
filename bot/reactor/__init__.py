"""Events fed to the rules; decisions stored as events, runs and outbox entries."""
