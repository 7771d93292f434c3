"""The server of a run's page: whom it answers, and what."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train import ConfigError
from tinytensor.train.results.log_file import LOG
from tinytensor.train.results.watch_file import NAME, Seen
from tinytensor.train.watch import server as serving
from tinytensor.train.watch.follow import Followed
from tinytensor.train.watch.page import live
from tinytensor.train.watch.server import Server

SECRET = "nobody outside may read this"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text(SECRET)
    (folder / "secret.txt").write_text(SECRET)
    (folder / LOG).write_text('{"step": 1, "loss": 2.5, "lr": 0.1, "grad_norm": 3}\n')
    head = json.dumps({"run": {"name": "run", "model": "gpt", "task": "text", "steps": 4}})
    (folder / NAME).write_bytes(head.encode() + b"\n" + Seen("sample", 1, "hello").line())
    made = Server(Followed(folder), live)
    made.start()
    yield made
    made.close()


def ask(
    server: Server, path: str | None = None, method: str = "GET", **headers: str
) -> tuple[int, str, dict[str, str]]:
    """What the server answers: status, text and headers. "Host" may be given; "" sends none."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    path = f"/{server.token}/" if path is None else path
    connection.putrequest(method, path, skip_host=True)
    host = headers.pop("Host", f"127.0.0.1:{server.server_port}")
    for name, value in {**({"Host": host} if host else {}), **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, dict(answer.getheaders())


def test_the_whole_address_gives_the_page_and_its_data(server: Server) -> None:
    assert server.address == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    status, text, headers = ask(server)
    assert status == 200 and text.startswith("<!doctype html>") and "hello" in text
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    status, text, headers = ask(server, f"/{server.token}/data")
    data = json.loads(text)
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert data["train"] == [[1, 2.5, 0.1, 3.0]] and data["seen"] == [["sample", 1, "hello"]]
    assert ask(server, Host=f"localhost:{server.server_port}")[0] == 200


def test_a_token_is_long_random_and_needed_for_everything(server: Server, tmp_path: Path) -> None:
    assert len(server.token) >= 32
    other = Server(Followed(tmp_path), live)
    try:
        assert other.token != server.token and other.server_port != server.server_port
    finally:
        other.close()
    token = server.token
    for path in (
        "/", "/data", "//", "", "*", "/favicon.ico", f"/{token[:-1]}/", f"/{token}x/data",
            f"/?{token}",
        f"/{token.swapcase()}/", f"/x/{token}/", f"/data?token={token}", "/%00/", "/%c3%bc/data",
        f"http://127.0.0.1:{server.server_port}/",
    ):  # fmt: skip
        status, text, _ = ask(server, path)
        assert (status, token in text, "hello" in text) == (403, False, False), path


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]:{port}",
     "", "127.0.0.1:{port}.evil.example", "0.0.0.0:{port}"],
)  # fmt: skip
def test_a_name_that_is_not_its_own_is_refused(server: Server, host: str) -> None:
    """A site whose name was made to point at 127.0.0.1 sends its own name as the Host."""
    for path in (f"/{server.token}/", f"/{server.token}/data"):
        status, text, _ = ask(server, path, Host=host.format(port=server.server_port))
        assert (status, "hello" in text) == (403, False)


def test_two_hosts_are_refused(server: Server) -> None:
    own = f"127.0.0.1:{server.server_port}"
    with socket.create_connection(("127.0.0.1", server.server_port), 10) as connection:
        request = f"GET /{server.token}/ HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n\r\n"
        connection.sendall(request.encode())
        assert b" 403 " in connection.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"]
)
def test_it_is_only_read_from(server: Server, method: str) -> None:
    for path in ("/", f"/{server.token}/data"):
        status, text, headers = ask(server, path, method)
        assert status == 405 and headers["Allow"] == "GET, HEAD" and "hello" not in text
        assert "Access-Control-Allow-Origin" not in headers


def test_head_has_headers_only(server: Server) -> None:
    page, head = ask(server), ask(server, method="HEAD")
    assert head[0] == 200 and head[1] == ""
    assert head[2]["Content-Length"] == page[2]["Content-Length"] == str(len(page[1]))
    assert ask(server, "/", "HEAD")[0] == 403
    with socket.create_connection(("127.0.0.1", server.server_port), 10) as connection:
        own = f"127.0.0.1:{server.server_port}"
        connection.sendall(f"HEAD /{server.token}/ HTTP/1.1\r\nHost: {own}\r\n\r\n".encode())
        raw = b""
        while piece := connection.recv(65536):
            raw += piece
    assert raw.startswith(b"HTTP/1.0 200 ") and raw.endswith(b"\r\n\r\n")


def test_no_other_site_may_read_or_frame_or_keep_it(server: Server) -> None:
    token = server.token
    for path in (f"/{token}/", f"/{token}/data", f"/{token}/nothing", "/"):
        _, _, headers = ask(server, path, Origin="http://evil.example")
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "Python" not in headers["Server"]
    for site, status in (
        ("cross-site", 403),
        ("same-site", 403),
        ("same-origin", 200),
        ("none", 200),
    ):
        assert ask(server, f"/{token}/data", Sec_Fetch_Site=site)[0] == status
    assert ask(server, Sec_Fetch_Site="cross-site")[0] == 200  # a link that somebody follows
    text = ask(server)[1]
    assert "default-src 'none'" in text and "connect-src 'self'" in text


@pytest.mark.parametrize(
    "path",
    ["secret.txt", "../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "..\\secret.txt",
     "/etc/passwd", "data/../secret.txt", "watch.jsonl", "data/", "./", "index.html"],
)  # fmt: skip
def test_no_other_file_is_reached(server: Server, path: str) -> None:
    status, text, _ = ask(server, f"/{server.token}/{path}")
    assert (status, SECRET in text) == (404, False)


def test_only_what_is_new_is_sent(server: Server) -> None:
    def data(mark: str) -> Any:
        return json.loads(ask(server, f"/{server.token}/data?since={mark}")[1])

    first = data("")
    again = data(first["mark"])
    assert again["at"] == {"train": 0, "val": 0, "seen": 1} and again["seen"] == []
    with open(server.followed.folder / NAME, "ab") as file:
        file.write(Seen("sample", 2, "world").line())
    assert data(first["mark"])["seen"] == [["sample", 2, "world"]]
    for mark in ("9.9.9.9", "x", "1.2.3", "-1.0.0.0", "1.0.0.99999", "%C2%B2.0.0.0", "9" * 5000):
        assert data(mark)["seen"][-1] == ["sample", 2, "world"], mark


def test_requests_that_are_none_or_never_end_do_no_harm(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving.Handler, "timeout", 0.3)
    for request in (b"\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x00", b"GET / HTTP/9.9\r\n\r\n",
                    b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200,
                    b""):  # fmt: skip
        with socket.create_connection(("127.0.0.1", server.server_port), 10) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(request)
                while connection.recv(4096):
                    pass
    assert ask(server)[0] == 200
    with contextlib.ExitStack() as open_ones:  # which say nothing
        for _ in range(3 * serving.AT_ONCE):
            one = socket.create_connection(("127.0.0.1", server.server_port), 10)
            open_ones.enter_context(one)
        deadline = time.monotonic() + 10
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if ask(server)[0] == 200:
                    break
            assert time.monotonic() < deadline
        assert threading.active_count() < 2 * serving.AT_ONCE
    assert capfd.readouterr() == ("", "")


def test_it_listens_to_this_machine_alone(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(server: Server) -> None:
    with pytest.raises(
        ConfigError, match=r"port: cannot listen at port \d+ of 127.0.0.1: .*--port"
    ):
        Server(server.followed, live, server.server_port)
    with pytest.raises(ConfigError, match="port: expected one from 0 to 65535, got 70000"):
        Server(server.followed, live, 70_000)


def test_once_closed_nobody_listens(server: Server) -> None:
    server.close()
    with pytest.raises(OSError):
        ask(server)


def test_requests_that_come_in_drops_do_not_keep_others_out(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 1.0)
    with contextlib.ExitStack() as stack:
        where = ("127.0.0.1", server.server_port)
        slow = [stack.enter_context(socket.create_connection(where)) for _ in range(16)]
        until = time.monotonic() + 8
        answered = False
        while not answered and time.monotonic() < until:
            for one in slow:
                with contextlib.suppress(OSError):
                    one.sendall(b"a")
            time.sleep(0.25)
            with contextlib.suppress(OSError, http.client.HTTPException):
                answered = ask(server)[0] == 200
        assert answered
    assert ask(server)[0] == 200


@pytest.mark.parametrize("line", [
    "GET http://[ HTTP/1.1", "GET /?a=1&b=2&c=3&d=4&e=5 HTTP/1.1", "<b> <i> HTTP/<u>",
    "GET / HTTP/9.9 secret",
])  # fmt: skip
def test_what_cannot_be_read_is_answered_without_being_repeated(server: Server, line: str) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(f"{line}\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b"cannot be read" in answer
    assert not any(part in answer for part in (b"<", b"secret", b"9.9"))
