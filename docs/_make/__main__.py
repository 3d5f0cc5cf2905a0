"""`python -m docs._make`: write what is made from the code, check it, or make the pictures."""

import os
import sys

from docs._make import pages

USAGE = "usage: scripts/docs [--check | --pictures]"


def main(words: list[str]) -> int:
    """Do what was asked; return the exit code."""
    match words:
        case []:
            changed = pages.write()
            lines = [f"{page.relative_to(pages.ROOT)} was brought up to date" for page in changed]
            code = 0
            if pages.OPERATIONS in changed:  # the command line is described from it, and has read the old one
                sys.stdout.write("".join(f"{line}\n" for line in lines))
                sys.stdout.flush()
                os.execv(sys.executable, [sys.executable, "-m", "docs._make"])  # noqa: S606 - itself
        case ["--check"]:
            lines = [*pages.differences()]
            lines += ["these files are stale: run scripts/docs"] if lines else []
            code = 1 if lines else 0
        case ["--pictures"]:
            from docs._make import pictures  # needs a browser, which the pages do not

            lines = [
                f"{path.relative_to(pages.ROOT)} {path.stat().st_size // 1024} KB" for path in pictures.make()
            ]
            code = 0
        case _:
            lines, code = [USAGE], 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
