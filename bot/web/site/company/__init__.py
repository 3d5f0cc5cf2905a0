"""Signing in where a company has its people: at its proxy, or at its OpenID provider."""
