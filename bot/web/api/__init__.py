"""The API for programs: operations, one file each; their HTTP door, description and tokens."""
