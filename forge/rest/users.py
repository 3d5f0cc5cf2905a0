"""Accounts, organisations and the rate limit."""

from flask import Blueprint, g

from forge.errors import NotFoundError
from forge.payloads import account
from forge.payloads.view import Json
from forge.rest.context import actor, store, view

blueprint = Blueprint("users", __name__)


@blueprint.get("/user")
def current_user() -> Json:
    return account.public_user(view(), actor())


@blueprint.get("/users/<login>")
def show_user(login: str) -> Json:
    return account.public_user(view(), store().users.get(login))


@blueprint.get("/orgs/<login>")
def show_organization(login: str) -> Json:
    return account.organization(view(), store().users.get(login))


@blueprint.get("/rate_limit")
def rate_limit() -> Json:
    """Answer with the rest of the budget; this call costs nothing."""
    if store().settings.server_version:
        raise NotFoundError("Rate limiting is not enabled.")
    budget = {name: value for name, value in g.budget.items() if name not in ("resource", "cost")}
    return {"resources": {"core": budget, "graphql": budget, "search": budget}, "rate": budget}
