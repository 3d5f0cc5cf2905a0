"""Projects: fields and views as REST has them."""

from html import escape

from forge.clock import rfc3339
from forge.payloads.account import user
from forge.payloads.view import Json, View, attributes
from forge.store.board import Field, Project, ProjectView


def _url(view: View, project: Project) -> str:
    return view.api(f"/orgs/{project.owner.login}/projectsV2/{project.number}")


def _text(raw: str) -> Json:
    return {"raw": raw, "html": escape(raw)}


def field(view: View, subject: Field) -> Json:
    """Return a `projects-v2-field`; the options have their names in two forms."""
    options = [
        {
            "id": option.id,
            "color": option.color,
            "name": _text(option.name),
            "description": _text(option.description),
        }
        for option in subject.options
    ]
    born = rfc3339(subject.project.created_at)
    return {
        **attributes(subject, "id", "node_id", "name"),
        "project_url": _url(view, subject.project),
        "data_type": subject.data_type.lower(),
        **({"options": options} if options else {}),
        "created_at": born,
        "updated_at": born,
    }


def view(view: View, subject: ProjectView) -> Json:
    """Return a `projects-v2-view`."""
    project = subject.project
    return {
        **attributes(subject, "id", "node_id", "number", "name", "layout", "created_at", "updated_at"),
        "filter": subject.filter,
        "visible_fields": subject.visible_fields,
        "vertical_group_by": subject.vertical_group_by,
        "project_url": _url(view, project),
        "html_url": view.html(
            f"/orgs/{project.owner.login}/projects/{project.number}/views/{subject.number}"
        ),
        "creator": user(view, subject.creator),
        "sort_by": [],
        "group_by": [],
    }
