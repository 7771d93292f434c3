"""Making a large picture small: equal neighbours become one, deep modules become boxes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy

from .picture import CONSTANT, INPUT, PARAMETER, Group, Picture, Step, Value
from .zooms.statistics import pooled

READABLE = 25  # boxes and circles that still make a picture to read; used when no depth is given


def fold(picture: Picture, depth: int | None) -> Picture:
    """The picture with modules below ``depth`` folded to boxes.

    Args:
        depth: 0 folds the outermost modules, 1 those inside them, and so on; None chooses the
            deepest that gives at most ``READABLE`` boxes, but never less than 1.
    """
    if depth is not None:
        return collapse(picture, depth)
    deepest = max((group.level for group in picture.groups()), default=-1) + 1
    for candidate in range(deepest, 1, -1):
        if steps_at(picture, candidate) > READABLE:  # without looking at values, which takes longer
            continue
        folded = collapse(picture, candidate)
        if folded.boxes() <= READABLE:
            return folded
    return collapse(picture, min(1, deepest))


def steps_at(picture: Picture, depth: int) -> int:
    """How many steps there are when modules are folded at this depth."""
    seen: set[int] = set()
    for step in picture.steps:
        chain = step.group.chain() if step.group is not None else []
        seen.add(id(next((group for group in chain if group.level >= depth), step)))
    return len(seen)


def home(value: Value, readers: Iterable[Step]) -> Group | None:
    """The group a value stands in: with its maker, or where all its readers are."""
    if value.step is not None:
        return value.step.group
    if value.brought:
        return None
    chains = [step.group.chain() if step.group is not None else [] for step in readers]
    common = None
    for level in zip(*chains, strict=False):
        if any(group is not level[0] for group in level):
            break
        common = level[0]
    return common


# ---- folding -------------------------------------------------------------------------------------


def collapse(picture: Picture, depth: int) -> Picture:
    """Replace each module call at level ``depth`` by one box, with all that is inside it."""
    into: dict[int, Step] = {}  # by id of the folded group
    replaced: dict[int, Step] = {}  # by id of the step that went into a box
    steps: list[Step] = []
    for step in picture.steps:
        chain = step.group.chain() if step.group is not None else []
        hidden = next((group for group in chain if group.level >= depth), None)
        if hidden is None:
            steps.append(step)
            continue
        box = into.get(id(hidden))
        if box is None:
            box = Step(hidden.title, hidden.parent, module=hidden, ops=0)
            into[id(hidden)] = box
            steps.append(box)
        box.ops += copies(step.group, hidden)
        replaced[id(step)] = box
    if not into:
        return picture
    return rewire(picture, steps, replaced)


def rewire(picture: Picture, steps: list[Step], replaced: dict[int, Step]) -> Picture:
    """Connect boxes to what crosses their borders; what stays inside goes, or is counted."""
    readers = picture.readers()
    moved = {id(v): replaced.get(id(s), s) for s in picture.steps for v in s.outputs}
    drawn: dict[int, Value] = {}

    def outside(value: Value) -> Value:
        """The value as it is drawn next to a box: a copy, for the traced picture stays as it is."""
        if id(value) not in drawn:
            drawn[id(value)] = copy(value)
        return drawn[id(value)]

    def crosses(value: Value) -> bool:
        """Is a result of a folded step read or asked for outside its box?"""
        box = moved[id(value)]
        return value.output or any(
            replaced.get(id(step), step) is not box for step in readers.get(id(value), [])
        )

    fresh: dict[int, Step] = {}
    for step in steps:
        new = fresh[id(step)] = copy(step)
        new.inputs, new.labels, new.outputs, new.flags = [], [], [], {}
    counted: dict[int, set[int]] = {}
    for step in picture.steps:
        old = replaced.get(id(step), step)
        new = fresh[id(old)]
        for value, label in zip(step.inputs, step.labels, strict=True):
            if value.step is not None:
                if moved[id(value)] is not old:
                    new.read(outside(value), "" if new.module else label)
                continue
            own = {id(replaced.get(id(s), s)) for s in readers[id(value)]} == {id(old)}
            if new.module is None or value.brought or not own:
                if new.module is None or value.role != CONSTANT:
                    new.read(outside(value), "" if new.module else label)
            elif value.role == PARAMETER and id(value) not in counted.setdefault(id(new), set()):
                counted[id(new)].add(id(value))
                times = copies(home(value, readers[id(value)]), new.module)
                tensors, size = new.parameters
                new.parameters = tensors + times, size + times * value.size
                add_flags(new.flags, value.flags)
        for value in step.outputs:
            if new.module is None or crosses(value):
                new.produce(outside(value))
            else:
                add_flags(new.flags, value.flags)
    return Picture([fresh[id(step)] for step in steps], [outside(v) for v in picture.outputs])


def add_flags(total: dict[str, int], flags: dict[str, str]) -> None:
    """Count what is strange."""
    for kind in flags:
        total[kind] = total.get(kind, 0) + 1


def copies(group: Group | None, inside: Group) -> int:
    """How many equal things one thing in ``group`` stands for, within one copy of ``inside``."""
    number = 1
    while group is not None and group is not inside:
        number, group = number * group.count, group.parent
    return number


# ---- merging -------------------------------------------------------------------------------------


class _Body:
    """What is inside one group, described so that equal groups have equal descriptions.

    Attributes:
        looks: the description; hashable.
        outer: the values from outside that the group reads, in the order it reads them.
        own: the tensors that the group alone reads, such as its weights.
        made: for each value made inside: (number of its step, number of the output).
        leaving: the values made inside that are read or asked for outside.
    """

    def __init__(self, group: Group, steps: list[Step], readers: dict[int, list[Step]]) -> None:
        self.group, self.steps = group, steps
        inside = {id(step) for step in steps}
        self.made = {
            id(value): (i, k)
            for i, step in enumerate(steps)
            for k, value in enumerate(step.outputs)
        }
        self.outer: list[Value] = []
        self.own: list[Value] = []
        known: dict[int, Hashable] = {}
        looks: list[Hashable] = [group.kind]
        for step in steps:
            read: list[Hashable] = []
            for value in step.inputs:
                if id(value) in self.made:
                    read.append(self.made[id(value)])
                    continue
                if id(value) not in known:
                    own = value.step is None and all(id(s) in inside for s in readers[id(value)])
                    if own and (value.role != INPUT or value.inner):
                        number = None
                        if value.role == CONSTANT:
                            number = value.data
                        else:
                            self.own.append(value)
                        known[id(value)] = (
                            "own",
                            len(known),
                            value.role,
                            value.shape,
                            value.dtype,
                            str(number),
                        )
                    else:
                        known[id(value)] = ("outer", len(self.outer), value.shape, value.dtype)
                        self.outer.append(value)
                read.append(known[id(value)])
            below = step.group.chain() if step.group is not None else []
            names = tuple(inner.title for inner in below[below.index(group) + 1 :])
            made = tuple((value.index, value.shape, value.dtype) for value in step.outputs)
            looks.append((step.title, step.settings, names, tuple(read), made))
        self.looks = tuple(looks)
        self.leaving = [
            value
            for step in steps
            for value in step.outputs
            if value.output or any(id(s) not in inside for s in readers.get(id(value), []))
        ]

    def feeds(
        self, following: _Body, readers: dict[int, list[Step]]
    ) -> tuple[Hashable, ...] | None:
        """How another equal group follows this one, or None if it does not.

        For each of its outer values: the number of the value of this group that it is, or None for
        a value both read from elsewhere. Nothing else may leave this group.
        """
        if self.looks != following.looks:
            return None
        wiring: list[Hashable] = []
        for mine, theirs in zip(self.outer, following.outer, strict=True):
            number = self.made.get(id(theirs))
            if number is None and mine is not theirs and not (nameless(mine) and nameless(theirs)):
                return None
            wiring.append(number)
        both = {id(step) for step in (*self.steps, *following.steps)}
        only = all(
            not value.output and all(id(step) in both for step in readers[id(value)])
            for value in self.leaving
        )
        return tuple(wiring) if only and any(n is not None for n in wiring) else None

    def unlike(self, run: list[_Body]) -> Iterable[Value]:
        """Tensors brought from outside in the place of which the others of a run read others."""
        for i, value in enumerate(self.outer):
            if value.step is None and any(body.outer[i] is not value for body in run[1:]):
                if all(nameless(body.outer[i]) for body in run):
                    yield value

    def beside(self, other: _Body, readers: dict[int, list[Step]]) -> bool:
        """Does an equal group read the same values, and do the same steps read its results?"""
        return (
            self.looks == other.looks
            and all(a is b for a, b in zip(self.outer, other.outer, strict=True))
            and len(self.leaving) == len(other.leaving) > 0
            and not any(v.output for v in (*self.leaving, *other.leaving))
            and all(
                {id(s) for s in readers[id(a)]} == {id(s) for s in readers[id(b)]}
                for a, b in zip(self.leaving, other.leaving, strict=True)
            )
        )


def nameless(value: Value) -> bool:
    """Is this an input of the module call that nobody would look for by name?"""
    return value.step is None and value.role == INPUT and not value.name


def merge_repeats(picture: Picture) -> Picture:
    """One group in place of several equal ones that follow each other or stand side by side.

    Outer groups come first, so that the inside of those that go is never looked at. Changes the
    steps of ``picture`` in place.
    """
    inside = bodies(picture)
    readers = picture.readers()
    gone: set[int] = set()  # steps, by id
    waiting: list[Group | None] = [None]
    while waiting:
        groups = inside.get(waiting.pop(), {})
        for run, together in repeats(groups, readers):
            gone |= merge(run, together, readers)
            for body in run[1:]:
                del groups[body.group]
        waiting.extend(groups)
    return Picture([step for step in picture.steps if id(step) not in gone], picture.outputs)


def bodies(picture: Picture) -> dict[Group | None, dict[Group, list[Step]]]:
    """For each group (None: the whole picture), those directly inside it with all their steps."""
    found: dict[Group | None, dict[Group, list[Step]]] = {}
    for step in picture.steps:
        parent: Group | None = None
        for group in step.group.chain() if step.group is not None else ():
            found.setdefault(parent, {}).setdefault(group, []).append(step)
            parent = group
    return found


def repeats(
    groups: dict[Group, list[Step]], readers: dict[int, list[Step]]
) -> list[tuple[list[_Body], bool]]:
    """Runs of two or more equal ones among sibling groups; True for those side by side."""
    runs: list[tuple[list[_Body], bool]] = []
    run: list[_Body] = []
    wiring: object = None
    outline = {g: (g.kind, tuple(step.title for step in steps)) for g, steps in groups.items()}
    order = list(groups)
    for i, group in enumerate(order):
        # nearly all are told apart by the names of their ops; the rest is looked at closely
        near = [outline[other] for other in order[max(0, i - 1) : i + 2] if other is not group]
        if outline[group] not in near:
            runs.append((run, wiring == "beside"))
            run, wiring = [], None
            continue
        body = _Body(group, groups[group], readers)
        how: object = None
        if run:
            how = run[-1].feeds(body, readers)
            if how is None and run[-1].beside(body, readers):
                how = "beside"
        if how is not None and (len(run) == 1 or how == wiring):
            run.append(body)
            wiring = how
            continue
        runs.append((run, wiring == "beside"))
        run, wiring = [body], None
    runs.append((run, wiring == "beside"))
    return [found for found in runs if len(found[0]) > 1]


def pool(run: list[_Body], drawn: set[int]) -> None:
    """Give the tensors of the first group the statistics of all, and say what is strange in some.

    ``drawn``: those of the last group that stand in the picture, with their own statistics.
    """
    first = run[0]
    places = [
        [[value for step in body.steps for value in step.outputs] for body in run],
        [body.own for body in run],
    ]
    for lists in places:
        for values in zip(*lists, strict=True):
            kept = values[-1] if id(values[-1]) in drawn else values[0]
            flags: dict[str, str] = {}
            for kind in dict.fromkeys(kind for value in values for kind in value.flags):
                having = [value.flags[kind] for value in values if kind in value.flags]
                flags[kind] = f"in {len(having)} of {len(run)}: {having[0]}"
            if kept is values[0]:
                kept.looked = pooled([value.looked for value in values])
                kept.grad_looked = pooled([value.grad_looked for value in values])
            kept.flags = flags
    assert first.group.count == len(run)


def merge(run: list[_Body], together: bool, readers: dict[int, list[Step]]) -> set[int]:
    """Keep the first group of a run; of the last only its results, which the first now makes.

    Returns:
        The steps that are no longer drawn, by id; ``readers`` knows of it.
    """
    first, last = run[0], run[-1]
    first.group.count, first.group.last = len(run), last.group.title
    first.group.together = together
    pool(run, set() if together else {id(value) for value in last.leaving})
    hidden = {id(value): value for step in first.steps for value in step.outputs}
    lost = {id(value) for body in run[1:] for value in body.leaving} if together else set()
    if not together:
        for value in last.leaving:  # with the last one's numbers: they are what the rest reads
            i, k = last.made[id(value)]
            maker, old = first.steps[i], first.steps[i].outputs[k]
            maker.outputs[k], value.step = value, maker
            for step in first.steps:
                if any(v is old for v in step.inputs):
                    step.inputs = [value if v is old else v for v in step.inputs]
                    step.reads = [value if v is old else v for v in step.reads]
                    readers.setdefault(id(value), []).append(step)
            del hidden[id(old)]
    for value in (*hidden.values(), *first.own):  # their numbers are the first's alone
        value.forget()
    for value in first.unlike(run):
        value.forget()
        value.looked = value.grad_looked = None
        value.flags = {}
    gone = {id(step) for body in run[1:] for step in body.steps}
    read = {id(v) for body in run[1:] for step in body.steps for v in step.inputs}
    for number in read - lost:
        readers[number] = [step for step in readers[number] if id(step) not in gone]
    for step in {id(s): s for number in lost for s in readers.pop(number, [])}.values():
        kept = [(v, w) for v, w in zip(step.inputs, step.labels, strict=True) if id(v) not in lost]
        step.inputs, step.labels = [v for v, _ in kept], [w for _, w in kept]
    return gone
