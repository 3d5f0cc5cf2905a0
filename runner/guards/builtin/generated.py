"""Files made by tools: they belong to one machine, and hide the real change."""

import re
from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.path_patterns import fold_case
from runner.run.run_spec import Guards

FINDS = "New files that tools make, such as `node_modules`, `dist`, `*.pyc`"
ACTION = "deny"
_FOLDERS = re.compile(
    r"(?:^|/)(?:node_modules|bower_components|__pycache__|\.venv|venv|site-packages|dist|\.next|\.nuxt|\.parcel-cache"
    r"|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.hypothesis|\.ipynb_checkpoints|\.gradle|\.terraform"
    r"|\.idea|\.vs|\.cache|\.nyc_output|htmlcov|[^/]+\.egg-info|\.aider[^/]*|\.cardinal)/",
    re.DOTALL,
)
_FILES = re.compile(
    r".*(?P<kind>\.(?:py[cod]|class|o|obj|swp|swo|orig|rej|min\.(?:js|css)|bundle\.js|map|tsbuildinfo|coverage))"
    r"|\.ds_store|thumbs\.db|desktop\.ini|\.coverage|npm-debug\.log|yarn-error\.log|.*~|#.*#|nohup\.out|core\.\d+",
    re.DOTALL,
)
_PLACEHOLDERS = (".gitkeep", ".keep", ".gitignore", "readme.md", "readme")
_ADVICE = "remove it with `git rm --cached` and name it in .gitignore"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield new files that look generated, but for those whose like the repository keeps in that folder."""
    rule = f"generated: {rules.action('generated')}"
    looks = [
        (touched, place) for touched in change.touched if touched.is_new and (place := _place(touched.path))
    ]
    kept = {_place(path) for path in change.before if not _keeps_open(path)} if looks else set()
    for touched, place in looks:
        if place not in kept:
            yield breach(touched, rule, "looks made by a tool, not written", _ADVICE)


def _place(path: str) -> tuple[str, str] | None:
    """Return the folder of a tool in which a path is, or its folder and kind; None for a written file."""
    plain = fold_case(path)
    if folder := _FOLDERS.search(plain):
        return plain[: folder.end()], ""
    above, _, name = plain.rpartition("/")
    kind = _FILES.fullmatch(name)
    return (above, kind["kind"] or name) if kind else None


def _keeps_open(path: str) -> bool:
    """Tell whether the file is there so that git knows its folder, whose content it does not keep."""
    return path.rpartition("/")[2].casefold() in _PLACEHOLDERS
