"""Floor 1: make it happen. Processes, workspaces, agents; knows no GitHub."""
