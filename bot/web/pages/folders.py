"""Folders in which runs work without a repository: what is in force, and the history of each."""

from flask import Response, make_response, render_template

from bot.web.api.operation import ApiRequest
from bot.web.api.operations import list_folders
from bot.web.api.operations.list_folders import FolderQuery, FolderSnapshot, KeptFolder
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.lists import file_size
from bot.web.site.times import stamp
from ledger.queue.sign_ins import SignIn
from rules.text import count, plain

NONE = "No folders yet. A column with `workspace: folder` has one."


def mount(site: Site) -> None:
    """Mount the page, for people who may read every repository of a board."""

    @site.get("/folders")
    def folders(visit: SignIn) -> Response:
        parameters.check_names()
        listed = list_folders.run(ApiRequest(site, visit), FolderQuery(board="")).folders
        shown = render_template(
            "folders.html",
            title="Folders",
            lines=() if listed else (NONE,),
            folders=[_shown(it) for it in listed],
            visit=visit,
        )
        return make_response(shown)


def _shown(it: KeptFolder) -> dict[str, object]:
    return {
        "name": plain(it.folder),
        "of": plain(f"{it.repository}, on {it.board}" if it.repository else it.board),
        "size": _size(it.files, it.size_bytes),
        "history": [_of_snapshot(past) for past in it.history],
    }


def _of_snapshot(past: FolderSnapshot) -> dict[str, str]:
    by = f"restored by {plain(past.restored_by)}" if past.restored_by else ""
    return {"run": past.run, "at": stamp(past.at), "size": _size(past.files, past.size_bytes), "by": by}


def _size(files: int, size_bytes: int) -> str:
    return f"{count(files, 'file')}, {file_size(size_bytes)}"
