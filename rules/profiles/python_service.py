"""A service or library in Python, with pytest and ruff."""

TEXT = """\
- Read `pyproject.toml` (or `setup.cfg`, `tox.ini`) first: it says the Python version, the tools and
  their settings.
- Follow the layout, the typing and the error handling that are there. Add type hints where the file has
  them.
- Every change of behaviour comes with a pytest test that fails without it. Use the fixtures that exist.
- Never catch an exception only to go on; never log or raise a secret.
- Change no dependency and no lock file unless the card asks for it.
- A migration of a database goes forward and back, and holds no lock for long on a large table.
- Before you finish, run the tests of what you touched and the linter, and say what you ran.
"""
SETUP = ("pip install -e .[dev]",)
FAST = ("ruff check .", "ruff format --check .")
FULL = ("ruff check .", "pytest -q")
SKILLS = ("python",)  # where there are any of these names
