"""Files from repositories: policy, profiles, personas, skills, guides."""
