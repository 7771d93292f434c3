"""Dates as people write them, to be written as ISO 8601."""

from __future__ import annotations

import datetime

from ....arrays.random import Generator
from .pairs import Example, Pairs

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
#: how many letters of a name make its short form
SHORT = 3

#: The forms. {d}, {m}, {y} are the numbers of day, month and year, {dd} and {mm} have a zero in
#: front where they are short; {th} is 1st, 2nd, 3rd, 4th; {month} and {weekday} are names, in full
#: or their first three letters. Numbers alone are unambiguous by convention: with dots the day
#: comes first, as in most of Europe; with slashes or hyphens the year does. Forms that are read one
#: way here and another there (3/5/1998) and years of two digits are left out.
FORMS = (
    "{d} {month} {y}",
    "{d} {month}, {y}",
    "{dd} {month} {y}",
    "{d}. {month} {y}",
    "{d}-{month}-{y}",
    "{th} {month} {y}",
    "{th} of {month} {y}",
    "the {th} of {month}, {y}",
    "{month} {d} {y}",
    "{month} {d}, {y}",
    "{month} {th}, {y}",
    "{month} the {th}, {y}",
    "{weekday} {d} {month} {y}",
    "{weekday}, {d} {month} {y}",
    "{weekday}, {month} {d}, {y}",
    "{weekday} the {th} of {month} {y}",
    "{y} {month} {d}",
    "{y}, {month} {th}",
    "{dd}.{mm}.{y}",
    "{d}.{m}.{y}",
    "{y}/{mm}/{dd}",
    "{y}-{m}-{d}",
)
DIGITS_AND_MARKS = "0123456789 ,.-/"
LETTERS = "".join((*MONTHS, *WEEKDAYS, "the", "of", "st", "nd", "rd"))
CHARACTERS = "".join(sorted(set(DIGITS_AND_MARKS + LETTERS + LETTERS.upper() + LETTERS.lower())))
#: how the letters are set: as they are, twice as often as each of the others
CASES = (str, str, str.upper, str.lower)


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, ... for a number from 1 to 99."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{'th' if 10 < n < 20 else ending}"


def written(day: datetime.date, form: str, short: bool = False) -> str:
    """A day in one of :data:`FORMS`; ``short`` cuts names to three letters."""
    length = SHORT if short else None
    return form.format(
        d=day.day,
        m=day.month,
        y=day.year,
        dd=f"{day.day:02}",
        mm=f"{day.month:02}",
        th=ordinal(day.day),
        month=MONTHS[day.month - 1][:length],
        weekday=WEEKDAYS[day.weekday()][:length],
    )


class DatesTask(Pairs):
    """From "the 3rd of May, 1998" to "1998-05-03": 22 forms, names in full or short, in any case.

    Days are drawn from 1900 to 2099 and split by the day itself: no form of a day of the test was
    ever trained on.
    """

    name = "dates"
    about = "dates as people write them, to ISO 8601"
    models = ("transformer", "bahdanau")
    recipes = {
        "bahdanau": {
            "n_embd": 64, "steps": 400, "batch_size": 64, "lr": 3e-3, "warmup": 50,
            "eval_every": 100, "checkpoint_every": 100,
        },
        "transformer": {
            "n_embd": 64, "steps": 1200, "batch_size": 64, "lr": 3e-3, "min_lr": 6e-5,
            "warmup": 150, "beta2": 0.98, "weight_decay": 0.0, "eval_every": 200,
            "checkpoint_every": 200,
        },
    }  # fmt: skip
    characters = CHARACTERS
    longest = (len("Wednesday the 22nd of September 2022"), len("2022-09-22"))
    things, asked = "dates", "3 May 1998"

    def draw_examples(self, rng: Generator, n: int) -> list[Example]:
        """See :class:`Pairs`."""
        days = rng.integers(FIRST.toordinal(), LAST.toordinal() + 1, (n,)).tolist()
        forms = rng.integers(0, len(FORMS), (n,)).tolist()
        short = rng.integers(0, 2, (n,)).tolist()
        cases = rng.integers(0, len(CASES), (n,)).tolist()
        found = []
        for i in range(n):
            day = datetime.date.fromordinal(days[i])
            iso = day.isoformat()
            text = written(day, FORMS[forms[i]], bool(short[i]))
            found.append(Example(iso, CASES[cases[i]](text), iso))
        return found
