"""The texts that people can edit or tick: a description, a comment, a comment on a line."""

from dataclasses import dataclass
from enum import StrEnum

from forge.errors import ForbiddenError
from forge.pages.site import Site
from forge.store.models import Comment, Issue, Repo, ReviewComment, Role


class TextKind(StrEnum):
    """Where a text is."""

    DESCRIPTION = "description"
    COMMENT = "comment"
    LINE_COMMENT = "line_comment"


@dataclass(frozen=True, slots=True)
class Text:
    """One text and what it belongs to."""

    repo: Repo
    holder: Issue | Comment | ReviewComment

    @property
    def body(self) -> str:
        """Return the Markdown."""
        return self.holder.body or ""

    def is_by(self, site: Site) -> bool:
        """Return whether the visitor wrote it."""
        return self.holder.author is site.person()

    def write(self, site: Site, body: str) -> None:
        """Replace the text as the visitor; raises UnprocessableError when it is blank or too long."""
        match self.holder:
            case Issue():
                site.store.issues.edit(self.holder, actor=site.person(), body=body)
            case Comment():
                site.store.issues.edit_comment(self.holder, body, actor=site.person())
            case ReviewComment():
                site.store.reviews.edit_comment(self.holder, body, actor=site.person())


def text_at(site: Site, repo: Repo, kind: TextKind, number: int) -> Text:
    """Return the text; `number` is an issue's number or a comment's id. Raises NotFoundError."""
    match kind:
        case TextKind.DESCRIPTION:
            return Text(repo, site.store.issues.get(repo, number))
        case TextKind.COMMENT:
            return Text(repo, site.store.issues.get_comment(repo, number))
        case TextKind.LINE_COMMENT:
            return Text(repo, site.store.reviews.get_comment(repo, number))


def require_ticking(site: Site, text: Text) -> None:
    """Raise ForbiddenError unless the visitor wrote the text or has write access."""
    if not text.is_by(site):
        site.require(text.repo, Role.WRITE, "tick a box")


def require_editing(site: Site, text: Text) -> None:
    """Raise ForbiddenError unless the visitor wrote the text."""
    if not text.is_by(site):
        raise ForbiddenError("Only its author can edit a comment.")
