"""One act posts and edits a plan or a question: open entries of the second act get the name of the first."""

from sqlalchemy import Connection, text


def up(db: Connection) -> None:
    """Rename the open entries; the post and the edit of one comment share a key."""
    for subject in ("plan", "question"):
        names = {"post": f"post_{subject}", "settle": f"settle_{subject}", "settled": f"{subject}-settled:"}
        db.execute(_RENAME, {**names, "subject": f"{subject}:"})


_RENAME = text(
    'UPDATE outbox SET act = :post, "coalesce" = TRUE, key = REPLACE(key, :settled, :subject)'
    " WHERE act IN (:post, :settle)"
)
