"""The gallery: the pages of lessons/steps, and a picture of each.

    python lessons/gallery.py                 writes docs/gallery/*.html
    python lessons/gallery.py --pictures      and docs/gallery/*.png, with Chromium and Playwright

`make gallery` does both; docs/gallery.md shows them.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "docs" / "gallery"

#: in the order of a lecture: the page, and the keys pressed before its picture is taken
PAGES = {
    "neuron": ["ArrowRight"] * 9,
    "shared": ["ArrowRight"] * 24,
    "matmul": ["End"],
    "softmax": ["End"],
    "cross_entropy": ["End"],
    "layer_norm": ["End"],
    "attention": ["ArrowRight", "o", *["ArrowRight"] * 12],
    "rnn": ["ArrowRight"] * 24,
    "lstm": ["ArrowRight"] * 30,
    "moons": ["ArrowRight"] * 8,
}


def steps(name: str) -> Any:
    """What the script of this name makes: a :class:`tinytensor.stepper.Steps`."""
    return runpy.run_path(str(HERE / "steps" / f"{name}.py"), run_name=name)["steps"]


def main(arguments: list[str] | None = None) -> int:
    """Write the pages; returns 0, or 1 where pictures were asked for and cannot be taken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder (default: docs/gallery)")
    parser.add_argument("--pictures", action="store_true", help="take a picture of each page too")
    parser.add_argument("names", nargs="*", help=f"which (default: all of {', '.join(PAGES)})")
    given = parser.parse_args(arguments)
    for unknown in set(given.names) - set(PAGES):
        parser.error(f"names: expected some of {', '.join(PAGES)}, got {unknown!r}")
    given.out.mkdir(parents=True, exist_ok=True)
    files = [steps(name).save(given.out / f"{name}.html") for name in given.names or PAGES]
    for file in files:
        print(f"{file}  {file.stat().st_size / 1000:.0f} KB")
    return take_pictures(files) if given.pictures else 0


def take_pictures(files: list[Path]) -> int:
    """A PNG beside each page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("no pictures: pip install playwright, and Chromium beside it", file=sys.stderr)
        return 1
    if chromium is None:
        print("no pictures: there is no Chromium here", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for file in files:
            view = browser.new_page(
                viewport={"width": 1280, "height": 760}, color_scheme="light", locale="en"
            )
            view.goto(file.resolve().as_uri())
            for key in PAGES[file.stem]:
                view.keyboard.press(key)
            view.wait_for_timeout(900)
            view.screenshot(path=file.with_suffix(".png"))
            print(file.with_suffix(".png"))
            view.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
