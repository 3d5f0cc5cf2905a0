"""Skills of a run: those that it could have, and layers and files of those that it gets."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.bootstrap import Services
from bot.github.api import roles
from bot.repo_config.profiles import Profile
from bot.repo_config.skill_sources import MAX_SKILLS, Shelf, files_of, folder_shelf, main_of, repository_shelf
from bot.system.config import Config
from bot.system.model_keys import operators
from ledger.events.instruction import SkillConsidered
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.views import instructions, jobs
from rules.policy.markdown.skill import SkillFile, SkillFileError, parse
from rules.policy.repository import Skills
from rules.policy.roles import LOGIN
from rules.runs.skills import ConsideredSkill, Offer, SkillContext, choose_skills, find_skill_line
from runner.run.instructions import Equipment, Layer, LayerKind, SkillContent
from runner.text.untrusted import without_invisible
from runner.text.visible import clean_markup, strip_hidden

PRIVATE_FOLDER = "skills"  # in the home: a folder OWNER for each owner, in lower case


@dataclass(frozen=True, slots=True)
class _Skill:
    """A skill on its shelf; `file` is None where its SKILL.md cannot be used."""

    shelf: Shelf
    offer: Offer
    file: SkillFile | None


def gather(
    services: Services,
    card: CardRow,
    repository: str,
    rules: Skills,
    commit: str,
    *,
    profile: Profile,
    of_column: tuple[str, ...],
) -> Equipment:
    """Return the skills of the card's next turns: the repository's at `commit`, operator's, profile's and
    column's.

    Raises a GithubError when GitHub does not answer.
    """
    shelves = [repository_shelf(services.hub, repository, commit)]
    shelves += map(folder_shelf, private_folders(services.config, services.board.owner))
    known = {(skill.offer.source, skill.offer.name): skill for shelf in shelves for skill in _all(shelf)}
    names = {name.casefold() for _, name in known}
    attached = tuple(name for name in profile.skills if profile.firm or name.casefold() in names)
    context = replace(_occasion(services, card), profile=profile.name, attached=attached, of_column=of_column)
    choices = choose_skills(rules, context, [skill.offer for skill in known.values()])
    return _equipment(choices, known)


def find_unknown(services: Services, repository: str, commit: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the names that no skill of the repository or the operator has. Raises GithubError."""
    shelves = [repository_shelf(services.hub, repository, commit)]
    shelves += map(folder_shelf, private_folders(services.config, services.board.owner))
    known = {name.casefold() for shelf in shelves for name in shelf.names()}
    return tuple(name for name in names if name.casefold() not in known)


def unusable(shelf: Shelf) -> Iterator[Offer]:
    """Yield the skills of a shelf that no run gets: `problem` says why."""
    return (skill.offer for skill in _all(shelf) if skill.offer.problem)


def _all(shelf: Shelf) -> Iterator[_Skill]:
    for count, name in enumerate(shelf.names(), start=1):
        if count <= MAX_SKILLS:
            yield _read(shelf, name)
        else:
            problem = f"only the first {MAX_SKILLS} skills in one place are looked at"
            yield _Skill(shelf, Offer(name, shelf.source, problem=problem), None)


def _read(shelf: Shelf, name: str) -> _Skill:
    raw = main_of(shelf, name)
    if raw is None:
        return _Skill(shelf, Offer(name, shelf.source, problem="it has no readable SKILL.md"), None)
    digest = hashlib.sha256(raw).hexdigest()
    try:
        file = parse(name, raw)
    except SkillFileError as error:
        problem = "its SKILL.md cannot be used" if shelf.is_private else str(error)
        return _Skill(shelf, Offer(name, shelf.source, digest=digest, problem=problem), None)
    size_bytes = len(file.text.encode())
    offer = Offer(name, shelf.source, file.version, digest, size_bytes, file.triggers)
    return _Skill(shelf, offer, file)


def _occasion(services: Services, card: CardRow) -> SkillContext:
    with event_store.reading(services.engine) as db:
        pinned, author = (
            instructions.list_pinned_skills(db, card.card_id),
            jobs.author_of(db, card.card_id, card.author),
        )
    trusted = roles.writes(services.hub, card.repository or "", author)
    line = find_skill_line(clean_markup(card.body).text)
    return SkillContext(without_invisible(card.title), trusted, card.choosing_labels, line, pinned)


def _equipment(choices: tuple[ConsideredSkill, ...], known: Mapping[tuple[str, str], _Skill]) -> Equipment:
    layers, files, considered = [], [], []
    for choice in choices:
        offer, why = choice.offer, choice.why
        skill = known.get((offer.source, offer.name))
        if choice.loaded and skill is not None and skill.file is not None:
            layer, contents, left = _load(skill, skill.file)
            layers.append(layer)
            files += contents
            offer = replace(offer, digest=layer.digest)
            names = "some files left out" if offer.is_private else f"left out: {', '.join(left)}"
            why = f"{why}; {names}" if left else why
        considered.append(
            SkillConsidered(
                name=offer.name,
                source=offer.source,
                version=offer.version,
                digest=offer.digest,
                private=offer.is_private,
                asked=choice.requested,
                loaded=choice.loaded,
                why=why,
            )
        )
    return Equipment(tuple(layers), tuple(files), tuple(considered))


def _load(skill: _Skill, file: SkillFile) -> tuple[Layer, list[SkillContent], list[str]]:
    name, digest, left = file.name, hashlib.sha256(skill.offer.digest.encode()), []
    contents = []
    for path, raw in files_of(skill.shelf, name):
        if raw is None:
            left.append(path)
            continue
        digest.update(f"\0{path}\0{hashlib.sha256(raw).hexdigest()}".encode())
        contents.append(SkillContent(f"{name}/{path}", raw))
    layer = Layer(
        kind=LayerKind.SKILL,
        name=name,
        source=skill.offer.source,
        text=f"{without_invisible(file.description)}\n\n{strip_hidden(file.text, paths=True)}",
        digest=digest.hexdigest(),
        version=file.version,
        private=skill.offer.is_private,
        files=tuple(file.path.partition("/")[2] for file in contents),
    )
    return layer, contents, left


def private_folders(config: Config, owner: str) -> tuple[Path, ...]:
    """Return the folders of private skills for a board of `owner`, where a later one replaces by name."""
    shared = (config.skills,) if config.skills is not None and operators(config, owner) else ()
    own = config.home / PRIVATE_FOLDER / owner.casefold()
    return (*shared, own) if LOGIN.fullmatch(owner) and own.is_dir() else shared
