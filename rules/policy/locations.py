"""Locations of the policy in a repository."""

PATH = ".github/cardinal.yml"
PROFILES_FOLDER = ".github/cardinal/profiles"
