"""What models can learn: a text, and what each task of the lineage is about.

A new one is a file with a :class:`Task`, and its name in :data:`TASKS`.
"""

from .addition import Addition
from .analogies import AnalogiesTask
from .dates import Dates
from .digits import DigitsTask
from .reverse import Reverse
from .task import Batch, Score, Task
from .text import TextTask
from .topics import TopicsTask
from .words import WordsTask

_ALL: tuple[type[Task], ...] = (
    TextTask,
    TopicsTask,
    DigitsTask,
    WordsTask,
    AnalogiesTask,
    Dates,
    Addition,
    Reverse,
)

#: name -> class; a model without a task takes the first that suits it
TASKS: dict[str, type[Task]] = {task.name: task for task in _ALL}

__all__ = [
    "Addition",
    "AnalogiesTask",
    "Batch",
    "Dates",
    "DigitsTask",
    "Reverse",
    "Score",
    "TASKS",
    "Task",
    "TextTask",
    "TopicsTask",
    "WordsTask",
]
