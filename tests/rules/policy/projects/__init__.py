"""Tests of how projects set up and check themselves."""
