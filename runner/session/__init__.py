"""The session of a run: its context, the dialogue with one agent, tools, questions, kept files."""
