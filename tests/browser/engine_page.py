"""The page's engine in a browser by itself, to be called from a test."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[2] / "tinytensor" / "pages" / "src"

PAGE = """<!doctype html><html lang="en"><title>engine</title><link rel="icon" href="data:,">
<script type="module">
import * as engine from "./engine/engine.js";
import { explainElement } from "./engine/provenance.js";
import { RULES } from "./engine/rules.js";
import { array } from "./engine/arrays.js";
window.engine = {
  ...engine,
  explainElement,
  names: () => Object.keys(RULES),
  applyAll: cases => cases.map(([op, given, params]) => {
    const inputs = given.map(([shape, items]) => array(shape, Float64Array.from(items)));
    const out = RULES[op].forward(inputs, params);
    return [out.shape, Array.from(out.data)];
  }),
  recomputeAll: cases => cases.map(([data, edits]) => engine.recompute(data, edits)),
  explainAll: cases => cases.map(([data, asked]) => asked.map(
    ([step, side, operand, index, output]) =>
      explainElement(data.steps[step], data, { side, operand, index, output }))),
  differencesOfAll: cases => cases.map(
    ([data, edits, ids]) => ids.map(id => engine.finiteDifferences(data, edits, id))),
};
</script>"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves the sources and one page that loads them; browsers load no modules from files."""

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def engine(open_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Gives ``call``: ``call(name, *arguments)`` calls a function of the engine in a browser."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SOURCES))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    page = open_page(address, allow=address)
    page.wait_for_function("window.engine")

    def call(name: str, *arguments: Any) -> Any:
        run = "([name, given]) => JSON.stringify(window.engine[name](...JSON.parse(given)))"
        return json.loads(page.evaluate(run, [name, json.dumps(arguments, allow_nan=False)]))

    yield call
    server.shutdown()
    server.server_close()
