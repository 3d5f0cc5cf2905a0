"""Builders of GitHub's resources and webhook payloads."""
