"""The identities that every floor passes around: opaque text, never parsed for meaning."""

from typing import NewType

BoardId = NewType("BoardId", str)  # node id of the GitHub project
CardId = NewType("CardId", str)  # node id of the project item
RunId = NewType("RunId", str)  # "r1", "r2" …: counted over the whole ledger, so it can be typed by hand
QuestionId = NewType("QuestionId", str)  # "r1-q1": the run and the count of its questions
DeliveryId = NewType("DeliveryId", str)  # GitHub's X-GitHub-Delivery
EntryKey = NewType("EntryKey", str)  # what makes an outward act the same act

NO_QUESTION = QuestionId("")  # where none is open
NO_RUN = RunId("")
