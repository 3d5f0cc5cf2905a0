"""Locations of the policy in a repository."""

PATH = ".github/cardinal.yml"
WORKFLOWS_FOLDER = ".github/cardinal/workflows"
PROFILES_FOLDER = ".github/cardinal/profiles"
