"""What an agent's change may not do."""
