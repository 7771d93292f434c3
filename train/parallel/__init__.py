"""Several processes that share each batch."""

from .data_parallel import DataParallel, WorkerError

__all__ = ["DataParallel", "WorkerError"]
