"""What is other in the specification of a run that does again what an earlier one did."""

from collections.abc import Iterator
from dataclasses import replace

from sqlalchemy import Connection

from bot.bootstrap import Services
from ledger.events.run import RERUN
from ledger.log import event_store
from ledger.rows.runs import RunRow
from ledger.views import checkpoints, instructions, questions, runs
from ledger.views.checkpoints import CheckpointRow
from rules.policy.column import ColumnPolicy, Tools
from runner import agents
from runner.run.instructions import LayerKind
from runner.run.run_spec import Origin, RunSpec

COMPARED = (LayerKind.PROFILE, LayerKind.GUIDE, LayerKind.SKILL, LayerKind.SYSTEM)
NEWEST = 50  # runs of a card among which one is looked for that had pushed before
MAX_NAMED = 5


def as_then(services: Services, spec: RunSpec, run: RunRow) -> RunSpec:
    """Return the specification without the card's review threads, red checks and unfinished work, and with
    what is not as it was then; that of a fork, with the checkpoint at which it begins.
    """
    with event_store.reading(services.engine) as db:
        past = runs.get(db, run.again_of)
        unlike = tuple(_differences(db, spec, run, past)) if past is not None else ()
        origin = _origin(db, run, past) if past is not None and run.forked_at else None
    return replace(spec, threads=(), failing="", start="", early=False, origin=origin, unlike=unlike)


def _origin(db: Connection, run: RunRow, past: RunRow) -> Origin | None:
    """Return where the fork begins; the session of another agent is of no use to this one."""
    kept = checkpoints.get(db, run.run_id, checkpoints.ORIGIN)
    if kept is None:
        return None
    session = kept.session if run.agent == past.agent else ""
    return Origin(replace(kept, run_id=past.run_id, session=session), _describe_point(db, run, kept))


def _describe_point(db: Connection, run: RunRow, kept: CheckpointRow) -> str:
    point, _, stage = run.forked_at.partition(":")
    if stage:
        return f"at the end of its stage {stage}"
    if point == "plan":
        return "when its plan was ready"
    asked = [it for it in questions.of_run(db, run.again_of) if it.asked_at <= kept.at]
    question = max(asked, key=lambda it: it.asked_at, default=None)
    return f"when it had asked this: “{question.text}”" if question else "when it had asked a question"


def _differences(db: Connection, spec: RunSpec, run: RunRow, past: RunRow) -> Iterator[str]:
    """Yield what people should know before they compare the two."""
    if run.forked_at and spec.agent != past.agent:
        yield f"{spec.agent} begins with the files, without what {past.agent} remembered"
    if spec.agent == past.agent and past.agent_version:
        version = agents.load(spec.agent, spec.paths.agents).version
        if version != past.agent_version:
            yield f"{spec.agent} is version {version}, and was {past.agent_version}"
    if _tools(run) != _tools(past):
        yield "the agent may do less, by today's policy"
    yield from _list_changed_layers(db, spec, past)
    before = None if run.forked_at else _find_pushed_before(db, past)
    if before is not None:
        yield f"it begins on {spec.base_branch}, without the commits of {before.run_id} on the card's branch"


def _tools(run: RunRow) -> Tools:
    return ColumnPolicy.model_validate_json(run.settings).tools


def _list_changed_layers(db: Connection, spec: RunSpec, past: RunRow) -> Iterator[str]:
    """Yield the instructions that are gone, changed or new since then."""
    kinds = set(map(str, COMPARED))
    then = {
        (row.kind, row.name): row.digest
        for row in instructions.stack_rows(db, past.run_id)
        if row.kind in kinds
    }
    if not then:
        return
    now = {(str(it.kind), it.name): it.digest for it in spec.stack if str(it.kind) in kinds}
    for words, names in (
        ("is gone", [key for key in then if key not in now]),
        ("changed", [key for key in then if key in now and now[key] != then[key]]),
        ("is new", [key for key in now if key not in then]),
    ):
        for kind, name in names[:MAX_NAMED]:
            yield f"the {kind} {name} {words}"


def _find_pushed_before(db: Connection, past: RunRow) -> RunRow | None:
    """Return the run that had pushed to the same branch before that one began; None without one."""
    earlier = (
        it
        for it in runs.of_card(db, past.card_id, limit=NEWEST)
        if it.queued_at < past.queued_at and it.kind != RERUN
    )
    return next((it for it in earlier if it.branch == past.branch and it.pushed_head), None)
