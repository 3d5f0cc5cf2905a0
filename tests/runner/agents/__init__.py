"""The agents' adapters and dialogues."""
