"""The page of a run on this very machine: a small server that only reads.

It listens at 127.0.0.1, so other machines cannot reach it; other users of this one, and pages of
other sites in the user's browser, are kept out by a random word in the address. It answers GET
and HEAD for two addresses, the page and its data, and reads no other file. A Host that is not its
own is refused (a site may let its name point here), no site may read its answers or show them in a
frame, and nothing is kept in a cache.
"""

from __future__ import annotations

import contextlib
import hmac
import http.server
import json
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..config import ConfigError
from ..given.words import cause
from .follow import Followed

HOST = "127.0.0.1"
#: seconds within which a request must have come; requests that are answered at once
PATIENCE, AT_ONCE = 10.0, 16
#: what every answer says
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: what a browser may do with one that is no page; a page says it itself
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
POLICY_OF_PAGE = "frame-ancestors 'none'"


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Serves a run's page until :meth:`close`, or the end of this process.

    Args:
        followed: the run. page: writes the page's text from its data.
        port: where; 0 takes one that is free.

    Attributes:
        address: of the page.
        asked: when its data were last asked for (``time.monotonic()``), None before.

    Raises:
        ConfigError: the port cannot be had, or this machine has no 127.0.0.1.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = False

    def __init__(self, followed: Followed, page: Callable[[dict[str, Any]], str], port: int = 0):
        self.followed, self.page = followed, page
        self.token = secrets.token_urlsafe(24)
        self.asked: float | None = None
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._coming: dict[socket.socket, float] = {}  # requests that are being read, since when
        self._thread: threading.Thread | None = None
        try:
            super().__init__((HOST, port), Handler)
        except OverflowError:
            raise ConfigError(f"port: expected one from 0 to 65535, got {port}") from None
        except OSError as error:
            where = f"port {port} of {HOST}" if port else HOST
            other = "; without --port a free one is taken" if port else ""
            raise ConfigError(f"port: cannot listen at {where}: {cause(error)}{other}") from None

    def server_bind(self) -> None:
        """Take the port; the base class would ask the network for this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    @property
    def address(self) -> str:
        """Of the page, with the word that it needs."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def names(self) -> set[str]:
        """What a request may call this server."""
        return {f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"}

    def start(self) -> None:
        """Answer from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.2,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No longer listen."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self.shutdown()
            thread.join(2.0)
        self.server_close()

    def told_all(self, seconds: float) -> None:
        """Wait until a page that is open has what the run has left, at most so long."""
        began, asked = time.monotonic(), self.asked
        if asked is None or began - asked > 5.0:
            return
        while time.monotonic() - began < seconds and (self.asked or 0.0) <= began:
            time.sleep(0.05)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, or not at all where too many are being answered."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._coming[request] = time.monotonic()
        try:
            super().process_request(request, client_address)
        except BaseException:  # there can be no more threads
            self.came(request)
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """See :meth:`process_request`."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.came(request)
            self._places.release()

    def came(self, request: socket.socket) -> None:
        """A request has been read whole, or will not be."""
        self._coming.pop(request, None)

    def service_actions(self) -> None:
        """Wait no longer for requests that come in drops, each in time for the next."""
        late = time.monotonic() - PATIENCE
        for request, since in list(self._coming.items()):
            if since < late:
                self.came(request)
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RD)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever left in the middle is not worth a word."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request; see the top of this file."""

    server: Server
    timeout = PATIENCE
    server_version, sys_version = "tinytensor", ""

    def do_GET(self) -> None:
        """The page, or its data."""
        self.server.came(self.connection)
        try:
            asked = urlsplit(self.path)
            query = parse_qs(asked.query, max_num_fields=4)
        except ValueError:
            self._answer(400, "this address cannot be read")
            return
        refused = self._refused(asked.path)
        if refused is not None:
            self._answer(*refused)
            return
        place = asked.path.removeprefix(f"/{self.server.token}")
        if place == "/":
            text = self.server.page(self.server.followed.data())
            self._answer(200, text, "text/html; charset=utf-8", POLICY_OF_PAGE)
        elif place == "/data":
            self.server.asked = time.monotonic()
            mark = query.get("since", [""])[0]
            text = json.dumps(self.server.followed.data(mark), separators=(",", ":"))
            self._answer(200, text, "application/json")
        else:
            self._answer(404, "there is no such page")

    do_HEAD = do_GET

    def _refused(self, path: str) -> tuple[int, str] | None:
        """Why a request is not answered, if so."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.names:
            return 403, "this server goes by another name"
        word, _, wanted = path.removeprefix("/").partition("/")
        if not hmac.compare_digest(word.encode(), self.server.token.encode()):
            return 403, "expected the whole address that the run has printed"
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        if wanted == "data" and site not in ("same-origin", "none"):
            return 403, "another site asks for the data of this one"
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # http.server looks up what a request wants to do
            return self._only_read
        raise AttributeError(name)

    def _only_read(self) -> None:
        self._answer(405, "this server is only read from: GET or HEAD", Allow="GET, HEAD")

    def _answer(
        self,
        status: int,
        text: str,
        kind: str = "text/plain; charset=utf-8",
        policy: str = POLICY,
        **more: str,
    ) -> None:
        content = text.encode()
        self.send_response(status)
        headers = {
            **HEADERS,
            "Content-Security-Policy": policy,
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **more,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A request that cannot be read; nothing of it is repeated."""
        self.command = getattr(self, "command", None) or "GET"
        self.close_connection = True
        self._answer(code, "this request cannot be read")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written down: the terminal is the run's."""
