"""What models can learn: a text, and what each task of the lineage is about.

A new one is a file with a :class:`Task`, and its name in :data:`TASKS`.
"""

from .analogies import AnalogiesTask
from .task import Batch, Score, Task
from .text import TextTask
from .words import WordsTask

#: name -> class; a model without a task takes the first that suits it
TASKS: dict[str, type[Task]] = {task.name: task for task in (TextTask, WordsTask, AnalogiesTask)}

__all__ = ["AnalogiesTask", "Batch", "Score", "TASKS", "Task", "TextTask", "WordsTask"]
