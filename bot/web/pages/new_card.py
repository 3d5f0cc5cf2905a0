"""A new card from a page: the same request as that of a program, in the name of who is signed in."""

from urllib.parse import quote

from flask import Response, make_response, redirect, render_template, request

from bot.github.errors import GithubError
from bot.web.acting import form
from bot.web.acting.form import ActForm
from bot.web.api.operation import ApiError, SiteRequest, check_fields
from bot.web.api.operations import create_job
from bot.web.api.operations.create_job import JobWish
from bot.web.api.operations.get_request import JobRequest
from bot.web.api.sending import ApiProblemError
from bot.web.authorization import RequestLimiter
from bot.web.pages.act import ACTS_A_MINUTE, ACTS_AN_HOUR, try_later
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.visibility import VisibleBoard
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue.acted_requests import ReusedKeyError
from ledger.queue.api_tokens import Scope, TokenRow
from ledger.queue.sign_ins import SignIn
from ledger.views import boards
from rules.snapshot import is_outside
from rules.text import plain

PATH = "/boards/<owner>/<int(max=999999999):number>/new"
FIELDS = frozenset({"repository", "title", "body", "column", "token"})
NAME = "new-card"  # of the form
MAX_BYTES = 128 * 1024
STALE = "The form is not of this page and sign-in: reload the page and send it again."
MADE = "The card is being created. It shows up on the board in a moment."


def mount(site: Site) -> None:
    """Mount the form and its door."""
    pace = RequestLimiter(site.clock, each=ACTS_A_MINUTE, of_all=ACTS_AN_HOUR)

    @site.get(PATH)
    def new_card(visit: SignIn, owner: str, number: int) -> Response:
        parameters.check_names("column")
        board = site.find_board(visit, owner, number)
        return site.nothing(visit) if board is None else _form_page(site, visit, board)

    @site.blueprint.post(PATH)
    def make_card(owner: str, number: int) -> Response:
        sender = site.sender(MAX_BYTES)
        if not isinstance(sender, SignIn):
            return sender
        board = site.find_board(sender, owner, number)
        if board is None:
            return site.nothing(sender)
        if not pace.take(sender.user_id):
            return try_later(site, "Cardinal is busy")
        return _make_card(site, sender, board)


def _form_page(site: Site, visit: SignIn, board: VisibleBoard) -> Response:
    with event_store.reading(site.engine) as db:
        row = boards.get(db, board.board_id)
    shown = render_template(
        "new_card.html",
        title="New card",
        board=board,
        columns=[(column.name, plain(column.name)) for column in (row.columns if row else ())],
        chosen=request.args.get("column", ""),
        repositories=sorted(name for name in board.seen if not is_outside(name, board.owner)),
        token=form.new_token(site.config.client_secret, site.word(), CardId(board.board_id), NAME),
        visit=visit,
    )
    return make_response(shown)


def _make_card(site: Site, visit: SignIn, board: VisibleBoard) -> Response:
    sent = {name: request.form.get(name, "").replace("\r\n", "\n") for name in FIELDS}
    token = sent.pop("token")
    card_form = ActForm(CardId(board.board_id), NAME, "", board.path, token)
    ways = [(f"{board.path}/new", "The form", "to send it again"), (board.path, "The board", "as it is")]
    if request.form.keys() != FIELDS or not form.fits_form(site.config.client_secret, site.word(), card_form):
        return site.page("Nothing was done", STALE, status=403, visit=visit, links=ways)
    call = SiteRequest(site, visit, _as_token(site, visit), token)
    try:
        wish = check_fields(JobWish, {**sent, "board": f"{board.owner}/{board.number}"})
        made: JobRequest = create_job.run(call, wish)
    except ReusedKeyError:
        return site.page("Nothing was done", STALE, status=409, visit=visit, links=ways)
    except (ApiError, ApiProblemError) as error:
        because = plain(f"{error.because}: {error.remedy}", 500)
        return site.page("Nothing was done", f"{because}.", status=error.status, visit=visit, links=ways)
    except GithubError:
        return try_later(site, "GitHub did not say what you may do")
    if made.number:
        return make_response(redirect(f"/cards/{quote(made.repository)}/{made.number}", 303))
    return site.page("Card requested", MADE, *made.warnings, visit=visit, links=ways[1:])


def _as_token(site: Site, visit: SignIn) -> TokenRow:
    """Return the person's own right to create cards, as a request of the API carries it."""
    return TokenRow(
        token_id="",
        name="",
        login=visit.login,
        user_id=visit.user_id,
        scopes=(Scope.CREATE,),
        made_at=site.clock(),
        until=visit.until,
        revoked_at=None,
        used_at=None,
        uses=0,
    )
