"""Recipes as starting points of a board's policy: what each would do, then a pull request."""

from functools import partial

from flask import Response, make_response, render_template, request

from bot.repo_config import recipes
from bot.state import structure
from bot.state.policy_names import list_installed
from bot.web.authorization import RequestLimiter
from bot.web.pages.act import try_later
from bot.web.pages.policy import compare_policies, policy_lines
from bot.web.pages.policy_edit import A_MINUTE, AN_HOUR, MAX_BYTES, propose_policy, read_current
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.visibility import VisibleBoard
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from rules.card.column_actions import consequence
from rules.errors import PolicyError
from rules.policy.edit import start_from
from rules.policy.model import parse
from rules.policy.settings import MAX_TEXT
from rules.text import plain


def mount(site: Site) -> None:
    """Mount the list, and the page of each recipe."""
    pace = RequestLimiter(site.clock, each=A_MINUTE, of_all=AN_HOUR)

    @site.blueprint.route("/policy/<owner>/<int:number>/recipes")
    def policy_recipes(owner: str, number: int) -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        parameters.check_names()
        board = site.find_board(visit, owner, number)
        return _list_page(visit, board) if board and board.home else site.nothing(visit)

    @site.blueprint.route("/policy/<owner>/<int:number>/recipes/<name>", methods=["GET", "POST"])
    def policy_recipe(owner: str, number: int, name: str) -> Response:
        visit = site.sender(MAX_BYTES) if request.method == "POST" else site.visit() or site.stranger()
        if isinstance(visit, Response):
            return visit
        parameters.check_names()
        board = site.find_board(visit, owner, number)
        if board is None or not board.home or name not in recipes.list_recipes():
            return site.nothing(visit)
        if request.method == "POST" and not pace.take(visit.user_id):
            return try_later(site, "too many changes were made in a short time")
        return _answer(site, visit, board, name)


def _list_page(visit: SignIn, board: VisibleBoard) -> Response:
    shown = [(name, recipes.recipe_title(recipes.read_recipe(name))) for name in recipes.list_recipes()]
    title = "Start from a recipe"
    return make_response(
        render_template(
            "policy_recipes.html", title=title, visit=visit, path=board.policy_path, recipes=shown
        )
    )


def _answer(site: Site, visit: SignIn, board: VisibleBoard, name: str) -> Response:
    """Return what the recipe would do; once it is asked for, the way to its pull request."""
    current, recipe = read_current(site, board), recipes.read_recipe(name)
    page = partial(
        render_template,
        "policy_recipe.html",
        title=recipes.recipe_title(recipe),
        visit=visit,
        path=board.policy_path,
        name=name,
        home=current.home,
    )
    try:
        text = start_from(current.text, recipe)
        after = parse(
            text, home=current.home, installed=list_installed(site.config.agents), workflows=current.workflows
        )
    except PolicyError as error:
        return make_response(page(problems=policy_lines(error.problems), text=recipe))
    if request.method == "POST":
        title = f"Change the columns, from the recipe {name}, of the board's policy"
        return propose_policy(site, visit, current, title=title, text=text)
    with event_store.reading(site.engine) as db:
        absent = structure.absent_columns(db, board.board_id, after)
    columns = after.board.columns.items()
    shown = page(
        effects=[(plain(column), plain(consequence(rules), MAX_TEXT)) for column, rules in columns],
        changes=compare_policies(current.policy, after, current.cards),
        absent=tuple(map(plain, absent)),
        queued=current.queued,
        text=text,
    )
    return make_response(shown)
