"""Why a card stands as it does, where something else depends on it: the sentence beside it is for people."""

from enum import StrEnum


class Reason(StrEnum):
    """A code that is stored; never rename one. OTHER: nothing depends on the reason."""

    OTHER = ""
    BLOCKED = "blocked"
    CHECKS_RED = "checks_red"
    DEPENDENCY = "dependency"
    MERGE_LANE = "merge_lane"
    MERGE_QUEUE = "merge_queue"
    MERGE_TURN = "merge_turn"
    MOVER_UNKNOWN = "mover_unknown"
    OUT_OF_REACH = "out_of_reach"
    REPOSITORY_UNCLEAR = "repository_unclear"
