"""What models can learn: a text, and what each task of the lineage is about.

A new one is a file with a :class:`Task`, and its name in :data:`TASKS`.
"""

from .task import Batch, Score, Task
from .text import TextTask

#: name -> class; a model without a task takes the first that suits it
TASKS: dict[str, type[Task]] = {task.name: task for task in (TextTask,)}

__all__ = ["Batch", "Score", "TASKS", "Task", "TextTask"]
