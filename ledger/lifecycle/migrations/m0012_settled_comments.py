"""One act posts and edits a plan or a question: open entries of the second act get the name of the first."""

from sqlalchemy import Connection, text


def up(db: Connection) -> None:
    """Rename the open entries; the post and the edit of one comment share a key.

    An edit whose post is pending, too, goes: the post writes the text as it is when its turn comes.
    """
    for subject in ("plan", "question"):
        names = {"settle": f"settle_{subject}", "settled": f"{subject}-settled:", "subject": f"{subject}:"}
        db.execute(_DROP, names)
        db.execute(_RENAME, {**names, "post": f"post_{subject}"})


_DROP = text(
    "DELETE FROM outbox WHERE act = :settle AND state = 'pending'"
    " AND REPLACE(key, :settled, :subject) IN (SELECT key FROM outbox WHERE state = 'pending')"
)
_RENAME = text(
    'UPDATE outbox SET act = :post, "coalesce" = TRUE, key = REPLACE(key, :settled, :subject)'
    " WHERE act IN (:post, :settle)"
)
