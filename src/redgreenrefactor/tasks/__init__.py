"""Task files: one or several, from the start or from where they stand."""

from redgreenrefactor.tasks.running import NO_WISHES, TaskWishes, resume_task, run_task, run_tasks

__all__ = ["NO_WISHES", "TaskWishes", "resume_task", "run_task", "run_tasks"]
