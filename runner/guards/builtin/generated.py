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
    r".*\.(?:py[cod]|class|o|obj|swp|swo|orig|rej|min\.(?:js|css)|bundle\.js|map|tsbuildinfo|coverage)"
    r"|\.ds_store|thumbs\.db|desktop\.ini|\.coverage|npm-debug\.log|yarn-error\.log|.*~|#.*#|nohup\.out|core\.\d+",
    re.DOTALL,
)
_ADVICE = "remove it with `git rm --cached` and name it in .gitignore"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield new files that look generated; files that the repository has already may change."""
    rule = f"generated: {rules.action('generated')}"
    for touched in change.touched:
        plain = fold_case(touched.path)
        if touched.is_new and (_FOLDERS.search(plain) or _FILES.fullmatch(plain.rsplit("/", 1)[-1])):
            yield breach(touched, rule, "looks made by a tool, not written", _ADVICE)
