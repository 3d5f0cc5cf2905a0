"""A repository of documentation."""

TEXT = """\
- Read the neighbouring pages first: use their words, their headings and their order. One word for one thing.
- Write for somebody who reads it for the first time: what it is, what to do, what comes out. Short sentences.
- Every command and every sample that you write was tried, or stands there with a note that it was not.
- Links are relative where the neighbours' are; check that each one leads somewhere.
- Change no generated page by hand: change what it is made from.
- Before you finish, build the documentation if there is a build, and say what you ran.
"""
FULL = ("mkdocs build --strict",)
SKILLS = ("writing",)  # where there are any of these names
