"""The stock Firefox, driven by WebDriver BiDi, which it speaks; Playwright wants a Firefox of its
own."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

#: no first-run pages, no updates, and no way to any server
PREFERENCES = {
    "app.update.auto": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "ui.prefersReducedMotion": 1,
}
KEYS = {"ArrowRight": "\ue014", "ArrowLeft": "\ue012", "End": "\ue010", "Home": "\ue011"}
KEYS |= {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004"}


class Firefox:
    """One tab of it. ``wrong`` collects errors that pages write or throw, and their requests."""

    def __init__(self, folder: Path) -> None:
        websocket = pytest.importorskip("websocket", reason="no websocket-client: pip install it")
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            pytest.skip("no Firefox")
        profile = folder / "profile"
        profile.mkdir()
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines))
        self.log = folder / "firefox.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [program, "--headless", "--no-remote", "--profile", profile,
                 "--remote-debugging-port", "0", "--width", "1280", "--height", "800"],
                stdout=log, stderr=log, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
            )  # fmt: skip
        try:
            self.socket = websocket.create_connection(
                f"{self._address()}/session", timeout=60, suppress_origin=True
            )
            self.wrong: list[str] = []
            self.number = 0
            self.send("session.new", capabilities={})
            events = ["log.entryAdded", "network.beforeRequestSent"]
            self.send("session.subscribe", events=events)
            self.tab = self.send("browsingContext.getTree")["contexts"][0]["context"]
        except BaseException:
            self.process.kill()
            raise

    def _address(self) -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", self.log.read_text()):
                return found[1]
            time.sleep(0.1)
        pytest.skip(f"Firefox does not start: {self.log.read_text()[-300:]}")

    def send(self, method: str, **params: Any) -> Any:
        """Call a command and return its result; events that come before it are looked through."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            told = json.loads(self.socket.recv())
            if told.get("id") == self.number:
                assert told["type"] == "success", told
                return told["result"]
            params = told.get("params", {})
            if told.get("method") == "log.entryAdded" and params["level"] in ("error", "warn"):
                self.wrong.append(params["text"])
            if told.get("method") == "network.beforeRequestSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    self.wrong.append(f"asked for {url}")

    def open(self, path: Path) -> None:
        self.send("browsingContext.navigate", context=self.tab, url=path.as_uri(), wait="complete")

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression that is or gives JSON."""
        found = self.send(
            "script.evaluate",
            expression=f"JSON.stringify({script})",
            target={"context": self.tab},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        value = found["result"].get("value")
        return None if value is None else json.loads(value)

    def wait_for(self, condition: str, seconds: float = 10) -> None:
        until = time.monotonic() + seconds
        while not self.evaluate(condition):
            assert time.monotonic() < until, f"still not: {condition}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self.send("input.performActions", context=self.tab, actions=[source])

    def picture(self, path: Path) -> None:
        found = self.send("browsingContext.captureScreenshot", context=self.tab)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        try:
            self.send("browser.close")
            self.process.wait(timeout=20)
        finally:
            self.process.kill()
            self.process.wait()
