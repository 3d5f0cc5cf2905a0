"""Accounts, organisations and the rate limit."""

from flask import Blueprint, Response, g

from forge.payloads import account
from forge.rest.context import actor, answer, store, view

blueprint = Blueprint("users", __name__)


@blueprint.get("/user")
def current_user() -> Response:
    """Answer with the account that asks."""
    return answer(account.public_user(view(), actor()))


@blueprint.get("/users/<login>")
def show_user(login: str) -> Response:
    """Answer with an account."""
    return answer(account.public_user(view(), store().users.get(login)))


@blueprint.get("/orgs/<login>")
def show_organization(login: str) -> Response:
    """Answer with an organisation."""
    return answer(account.organization(view(), store().users.get(login)))


@blueprint.get("/rate_limit")
def rate_limit() -> Response:
    """Answer with what is left; asking costs nothing."""
    budget = {name: value for name, value in g.budget.items() if name not in ("resource", "cost")}
    return answer({"resources": {"core": budget, "graphql": budget, "search": budget}, "rate": budget})
