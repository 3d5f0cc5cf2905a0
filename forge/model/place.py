"""Position of a conversation: its run, its turn and its step. Pure."""

import hashlib
import re
from dataclasses import dataclass

from forge.model.conversation import Conversation, Outcome, Used, Words

_HEAD = re.compile(r"^Run (\S+), turn (\S+) \((\w+)\)\.", re.MULTILINE)
_CALL_ID = re.compile(r"call_([0-9a-f]{12})x(\d+)x(\d+)x(\d+)")
_TITLE = re.compile(r"^# (?:The card: )?(.+)$", re.MULTILINE)
_TITLE_OF_OTHERS = re.compile(r"^## Title, by .+\n<untrusted-\w+>\n(.+)$", re.MULTILINE)
_ANSWERED = re.compile(r"^Your question was answered:\n(.*?)\n\nGo on from where you stopped\.", re.M | re.S)
_IN_RESULT = re.compile(r'\\?"answer\\?": ?\\?"((?:[^"\\]|\\[^"])*)\\?"')
_TO_ANSWER = "Answer each of these review threads"
_THREAD = re.compile(r"^\[(\S+)\] (\S+?)(?::\d+)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Thread:
    """A review thread as the prompt shows it."""

    thread_id: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Position in a turn. `step` is of its newest call, -1 before the first.

    `outcomes` are those of the newest step, one for each round. `fresh`: nothing was called since the newest
    prompt. `steered` is what people wrote since the newest call.
    """

    run: str
    turn: str
    phase: str
    title: str
    prompt: str
    answer: str
    threads: tuple[Thread, ...]
    step: int
    outcomes: tuple[Outcome, ...]
    fresh: bool
    steered: tuple[str, ...]

    @property
    def mark(self) -> str:
        """Return the start of the ids of this turn's calls, always the same for the same turn."""
        return mark_of(self.run, self.turn)

    @property
    def answered_inside(self) -> bool:
        """Whether the newest call has its answer in its result, as a question from before a crash has."""
        return any(_IN_RESULT.search(outcome.text) for outcome in self.outcomes[-1:])


def mark_of(run: str, turn: str) -> str:
    """Return twelve hexadecimal digits for a turn of a run."""
    return hashlib.sha256(f"{run}\n{turn}".encode()).hexdigest()[:12]


def call_id(mark: str, step: int, number: int, which: int) -> str:
    """Return the id of a tool call: the same request is answered with the same ids."""
    return f"call_{mark}x{step}x{number}x{which}"


def title_of(prompt: str) -> str:
    """Return the card's title from the headings that a briefing starts with; empty where there is none."""
    match = _TITLE_OF_OTHERS.search(prompt) or _TITLE.search(prompt)
    return match[1].strip() if match else ""


def slug_of(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].rstrip("-") or "card"


def place_of(conversation: Conversation) -> Place | None:
    """Return where the conversation stands, or None when no prompt of a run is in it."""
    heads = [
        (index, entry.text, match)
        for index, entry in enumerate(conversation.entries)
        if isinstance(entry, Words) and (match := _HEAD.search(entry.text))
    ]
    if not heads:
        return None
    last, prompt, head = heads[-1]
    run, turn, phase = head.groups()
    mark = mark_of(run, turn)
    mine = [text[match.end() :] for _, text, match in heads if match[1] == run]
    step, outcomes, newest = _progress(conversation, mark)
    return Place(
        run=run,
        turn=turn,
        phase=phase,
        title=title_of(heads[0][1][heads[0][2].end() :]),
        prompt=prompt[head.end() :].strip(),
        answer=_answer(conversation, mine),
        threads=next((threads for text in reversed(mine) if (threads := threads_of(text))), ()),
        step=step,
        outcomes=outcomes,
        fresh=newest < last,
        steered=_list_steering(conversation, max(newest, last)),
    )


def threads_of(prompt: str) -> tuple[Thread, ...]:
    """Return the review threads that a prompt asks to answer."""
    prompt = prompt.partition(_TO_ANSWER)[2]
    heads = list(_THREAD.finditer(prompt))
    ends = [head.start() for head in heads][1:] + [len(prompt)] * bool(heads)
    return tuple(
        Thread(head[1], head[2], prompt[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    )


def _progress(conversation: Conversation, mark: str) -> tuple[int, tuple[Outcome, ...], int]:
    """Return the newest step of the turn, the outcomes of its rounds, and where its newest call stands."""
    results = {outcome.call_id: outcome for outcome in conversation.entries if isinstance(outcome, Outcome)}
    rounds: dict[tuple[int, int], Outcome] = {}
    newest = -1
    for index, entry in enumerate(conversation.entries):
        match = _CALL_ID.fullmatch(entry.call_id) if isinstance(entry, Used) else None
        if isinstance(entry, Used) and match and match[1] == mark:
            newest = index
            where = (int(match[2]), int(match[3]))
            rounds.setdefault(where, results.get(entry.call_id, Outcome(entry.call_id, "", failed=True)))
    step = max((step for step, _ in rounds), default=-1)
    return step, tuple(outcome for where, outcome in sorted(rounds.items()) if where[0] == step), newest


def _answer(conversation: Conversation, prompts: list[str]) -> str:
    """Return the newest answer to a question: by a prompt, else in the result of the call that asked."""
    for prompt in reversed(prompts):
        match = _ANSWERED.search(prompt)
        if match:
            return match[1]
    inside = [_IN_RESULT.search(entry.text) for entry in conversation.entries if isinstance(entry, Outcome)]
    return next((match[1] for match in reversed(inside) if match), "")


def _list_steering(conversation: Conversation, after: int) -> tuple[str, ...]:
    entries = conversation.entries[after + 1 :]
    return tuple(
        entry.text.strip() for entry in entries if isinstance(entry, Words) and not _HEAD.search(entry.text)
    )
