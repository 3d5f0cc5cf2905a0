"""The phases of a run: preparation, stages, investigation, skills."""
