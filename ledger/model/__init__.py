"""Pure facts about runs and money, shared by views."""
