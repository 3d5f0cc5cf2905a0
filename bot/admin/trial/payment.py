"""Payment of the agents of `cardinal try`: who pays for their models, and whether that key is taken."""

from collections.abc import Callable, Iterable, Mapping

from bot.admin.clone.own_git import CloneError
from bot.admin.trial.trial import Trial
from bot.system import config as configuration
from bot.system import model_keys
from bot.system.env_file import PREFIX
from ledger.events.run import OWN
from runner import agents
from runner.gateway.models import key_trial
from runner.gateway.models.routes import missing_extra, payer_of
from runner.run.provider import USUAL, Provider, how_to_pay

_OWNER = "local"  # who has the boards of `cardinal try`
_UNFIT = "{0}. Agents cannot work until this is fixed: name one of its models with --model, or read its log."
_STOPPED = "{0}. Set another one, or use the scripted agent, which needs none"


def keys_in(place: Trial, environ: Mapping[str, str]) -> configuration.Config:
    """Return the settings that pay for models, of this environment and of the board's own file.

    Raises ConfigError.
    """
    names = {*(PREFIX + name.upper() for name in configuration.OF_OWNERS), *USUAL.values()}
    given = {name: text for name, text in environ.items() if name in names}
    board = {"CARDINAL_HOME": str(place.folder), "CARDINAL_BOARD": f"{_OWNER}/1"}
    return configuration.read({**given, **board}, place.top)


def check_payment(
    wanted: Mapping[str, Iterable[str]], config: configuration.Config, say: Callable[[str], None]
) -> None:
    """Try the key of each agent that needs one, by one token of its model; `wanted` are models by agent.

    `say` gets what a person should know before they go on: a provider that does not answer, say. Raises
    CloneError where nobody pays, or the key is refused.
    """
    paid = model_keys.providers(config, _OWNER)
    tried: set[str] = set()
    for name, models in wanted.items():
        if name == OWN:
            continue
        agent = agents.load(name, config.agents)
        allowed = {provider: payer for provider, payer in paid.items() if provider in agent.secrets}
        for model in sorted(models):
            if not (protocol := agent.provider(model)):
                continue
            payer = payer_of(protocol, allowed)
            if payer is None:
                step = how_to_pay(protocol, subscription="subscription" in agent.secrets)
                raise CloneError(f"{name} needs a key: {step}. The scripted agent needs none")
            if payer.name not in tried:
                tried.add(payer.name)
                _try(payer, agent.models(model)[0], say)


def _try(provider: Provider, model: str, say: Callable[[str], None]) -> None:
    if missing := missing_extra(provider):
        raise CloneError(missing)
    if not key_trial.is_key(provider):
        return
    result = key_trial.try_key(provider, model)
    if result.is_refused:
        raise CloneError(_STOPPED.format(result.problem))
    if result.problem:
        say(_UNFIT.format(result.problem))
