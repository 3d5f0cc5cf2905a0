"""Git's exclude file: hides the home from the repository around it; tracked files stay as they are."""

from pathlib import Path


def hide(home: Path) -> Path | None:
    """Add the home to `.git/info/exclude` of the repository around it; return that file, or None outside one.

    Worktrees and submodules, whose `.git` is a file, are left alone: their exclude file is others' too.
    Source: git-scm.com/docs/gitignore, `$GIT_DIR/info/exclude`.
    """
    for folder in home.absolute().parents:
        if (folder / ".git").is_dir() and not (folder / ".git").is_symlink():
            return _exclude(folder / ".git" / "info" / "exclude", f"/{home.absolute().relative_to(folder)}/")
        if (folder / ".git").exists():
            return None
    return None


def _exclude(file: Path, line: str) -> Path | None:
    if file.parent.is_symlink() or file.is_symlink() or (file.exists() and not file.is_file()):
        return None  # of another folder: git would not make it so
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    if line not in text.splitlines():
        file.parent.mkdir(exist_ok=True)
        start = "" if not text or text.endswith("\n") else "\n"
        with file.open("a", encoding="utf-8", errors="surrogateescape") as exclude:
            exclude.write(f"{start}{line}\n")
    return file
