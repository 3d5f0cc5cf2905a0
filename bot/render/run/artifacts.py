"""Files of a run in texts about it, with links where Cardinal's pages are served."""

from bot.render.markdown import links
from bot.render.markdown.escape import code, folded
from bot.render.run.story import Story
from ledger.events.artifact import ATTACHED, BRIEFING
from ledger.views.artifacts import ArtifactRow
from rules.text import count

MAX_FILES = 30


def pointer(story: Story) -> str:
    """Return one line that leads to the run's files; empty without pages or files."""
    run_id = story.run.run_id
    if not story.site or not story.left:
        return ""
    return f"[Logs, patch and report of {run_id}]({links.of_run(story.site, run_id)}), for who may read this"


def listed(story: Story) -> str:
    """Return the run's files; without pages only the attached ones, and the command that gets them."""
    kept = tuple(one for one in story.left if not one.dropped and one.kind != BRIEFING)
    run_id = story.run.run_id
    if story.site and kept:
        rows = [f"- {one.kind}: {_link(story, one)}" for one in kept[:MAX_FILES]]
        all_of_it = f"- [everything]({links.of_run(story.site, run_id)})"
        return folded(f"What {run_id} left: {count(len(kept), 'file')}", "\n".join([*rows, all_of_it]))
    attached = [code(one.name, 100) for one in kept if one.kind in ATTACHED][:MAX_FILES]
    named = ", ".join(attached)
    return f"Attached: {named} (`cardinal artifacts {run_id}` where Cardinal runs)" if attached else ""


def _link(story: Story, one: ArtifactRow) -> str:
    where = links.of_file(story.site, one.run_id, one.digest, one.name)
    return f"[{code(one.name, 100)}]({where})"
