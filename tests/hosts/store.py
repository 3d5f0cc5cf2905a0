"""`python -m tests.hosts.store ADDRESS PORT FOLDER`: moto's S3, whose objects outlive it in a folder."""

import io
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import get_ident
from typing import Any
from urllib.parse import quote, unquote

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
from werkzeug.test import Client

BUCKET = "runs"
Environ = dict[str, Any]
App = Callable[[Environ, Any], Iterable[bytes]]


class OnDisk:
    """The server's objects, each in a file as well, which is there before the answer is."""

    def __init__(self, app: App, folder: Path) -> None:
        self._app, self._folder = app, folder
        client = Client(app)
        made = [client.put(f"/{BUCKET}")]
        made += [client.put(unquote(file.name), data=file.read_bytes()) for file in folder.iterdir()]
        assert all(answer.status_code == 200 for answer in made), made

    def __call__(self, environ: Environ, answer: Any) -> Iterable[bytes]:
        """Serve a request; what is put is written, what is deleted is removed."""
        method, file = environ["REQUEST_METHOD"], self._folder / quote(environ["PATH_INFO"], safe="")
        if method == "DELETE":
            file.unlink(missing_ok=True)
        if method == "PUT":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            environ["wsgi.input"] = io.BytesIO(body)
            fresh = self._folder.with_name(f"{get_ident()}-{file.name}")
            fresh.write_bytes(body)
            fresh.replace(file)
        return self._app(environ, answer)


if __name__ == "__main__":
    _, address, port, place = sys.argv
    Path(place).mkdir(exist_ok=True)
    served = OnDisk(DomainDispatcherApplication(create_backend_app), Path(place))
    run_simple(address, int(port), served, threaded=True)
