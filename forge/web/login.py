"""Exchange of a sign-in's code for a token; the endpoint is beside the API, with its own error format."""

from flask import Blueprint, Response, jsonify, request

from forge.rest.context import store
from forge.store.authorizations import REFRESH_VALID, TOKEN_VALID, AuthorizationError

blueprint = Blueprint("login", __name__)


@blueprint.post("/login/oauth/access_token")
def exchange() -> Response:
    """Answer with a person's token or an error; both are a 200, as on GitHub. The forge writes only JSON."""
    names = ("client_id", "client_secret", "code", "redirect_uri", "code_verifier")
    client_id, secret, code, redirect_uri, verifier = (request.values.get(name, "") for name in names)
    try:
        token = store().authorizations.exchange(client_id, secret, code, redirect_uri, verifier)
    except AuthorizationError as error:
        return jsonify(error.fields())
    return jsonify(
        access_token=token,
        expires_in=int(TOKEN_VALID.total_seconds()),
        refresh_token=f"ghr_{token.removeprefix('ghu_')}",
        refresh_token_expires_in=int(REFRESH_VALID.total_seconds()),
        scope="",
        token_type="bearer",  # noqa: S106  GitHub's word
    )
