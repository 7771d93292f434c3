"""What models can learn: a text, and what each task of the lineage is about.

A new one is a file with a :class:`Task`, and its name in :data:`TASKS`.
"""

from .classes.digits import DigitsTask
from .classes.topics import TopicsTask
from .pairs.addition import AdditionTask
from .pairs.dates import DatesTask
from .pairs.reverse import ReverseTask
from .task import Batch, Score, Task
from .text import TextTask
from .vectors.analogies import AnalogiesTask
from .vectors.words import WordsTask

_ALL: tuple[type[Task], ...] = (
    TextTask,
    TopicsTask,
    DigitsTask,
    WordsTask,
    AnalogiesTask,
    DatesTask,
    AdditionTask,
    ReverseTask,
)

#: name -> class; a model without a task takes the first that suits it
TASKS: dict[str, type[Task]] = {task.name: task for task in _ALL}

__all__ = [
    "AdditionTask",
    "AnalogiesTask",
    "Batch",
    "DatesTask",
    "DigitsTask",
    "ReverseTask",
    "Score",
    "TASKS",
    "Task",
    "TextTask",
    "TopicsTask",
    "WordsTask",
]
