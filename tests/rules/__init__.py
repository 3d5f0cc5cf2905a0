"""The rules' tests: tables of policy, snapshot and event; each room has a folder."""
