"""Files of a run in texts about it, with links where Cardinal's pages are served."""

from bot.render.markdown import links
from bot.render.markdown.escape import code, fold
from bot.render.run.story import Story
from ledger.events.artifact import ATTACHED
from rules.text import count

MAX_FILES = 30
DROPPED = {  # as ArtifactDropped has it
    "age": "dropped: it was too old",
    "space": "dropped: the store was full, and this was one of the oldest files",
    "store": "not kept: writing to the store failed",
    "share": "not kept: the run had used its share of the store",
}


def pointer(story: Story) -> str:
    """Return one line that leads to the run's files; empty without pages or files."""
    run_id = story.run.run_id
    if not story.site or not story.artifacts:
        return ""
    files = f"[Logs, patch and report of {run_id}]({links.files_link(story.site, run_id)})"
    return f"{files}, for anyone who can read the repository"


def list_artifacts(story: Story) -> str:
    """Return the run's files; without pages only the attached ones, and the command that gets them."""
    kept = tuple(file for file in story.artifacts if not file.dropped and file.is_for_readers)
    run_id = story.run.run_id
    if story.site and kept:
        rows = [
            f"- {file.kind}: [{code(file.name, 100)}]"
            f"({links.of_file(story.site, file.run_id, file.digest, file.name)})"
            for file in kept[:MAX_FILES]
        ]
        all_of_it = f"- [everything]({links.files_link(story.site, run_id)})"
        return fold(f"Files of run {run_id}: {count(len(kept), 'file')}", "\n".join([*rows, all_of_it]))
    attached = [code(file.name, 100) for file in kept if file.kind in ATTACHED][:MAX_FILES]
    named = ", ".join(attached)
    return f"Attached: {named} (`cardinal artifacts {run_id}` where Cardinal runs)" if attached else ""
