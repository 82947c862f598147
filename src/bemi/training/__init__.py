"""Training: the stages in order for each network, from rows and settings."""

from bemi import lazily

__getattr__ = lazily(
    __name__,
    {
        "choice": ("Candidate", "Choice", "choose"),
        "pipeline": ("Variants", "train", "train_lazily"),
        "plan": ("Plan", "Task"),
    },
)
