"""What a repository decides about itself: policy, profiles, skills."""
