"""Queries across several views."""
