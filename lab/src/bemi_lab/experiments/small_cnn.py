"""A small convolutional network to compare with on images; needs PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_STEPS, _BATCH, _RATE = 3000, 64, 3e-3
_CHANNELS, _HIDDEN = (16, 32), 128
_TURN, _SIZE, _SHEAR, _SHIFT = 14.0, 0.15, 0.25, 0.08  # of the deformed copies: degrees, and shares
_AT_ONCE = 2000


class SmallCNN:
    """Two convolutions of 5 x 5, each with a pool of 2 x 2, and two layers: 80,000 numbers for 28 x 28 pixels.

    Every step learns from new deformed copies of a batch, whatever the number of images, so that training always takes
    as long.  The settings are the first that were tried.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike) -> SmallCNN:
        """Train on rows of pixels of square grey images."""
        import torch
        from torch import nn

        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        self.classes_, targets = np.unique(np.asarray(y), return_inverse=True)
        images, labels = self._images(X), torch.from_numpy(targets)
        first, second = _CHANNELS
        left = (math.isqrt(np.asarray(X).shape[1]) - 4) // 2
        left = (left - 4) // 2
        parts = (nn.Conv2d(1, first, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(first, second, 5), nn.ReLU())
        layers = (
            nn.Linear(second * left**2, _HIDDEN),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(_HIDDEN, len(self.classes_)),
        )
        self._net = nn.Sequential(*parts, nn.MaxPool2d(2), nn.Flatten(), *layers)
        optimizer = torch.optim.Adam(self._net.parameters(), _RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=_STEPS)
        self._net.train()
        for _ in range(_STEPS):
            chosen = torch.randint(len(images), (_BATCH,))
            loss = nn.functional.cross_entropy(self._net(self._deformed(images[chosen])), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        self._net.eval()
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each image."""
        import torch

        images = self._images(X)
        with torch.no_grad():
            parts = [self._net(part).argmax(1) for part in images.split(_AT_ONCE)]
        return self.classes_[torch.cat(parts).numpy()]

    @staticmethod
    def _images(X: ArrayLike) -> Any:
        import torch

        rows = np.asarray(X, dtype=np.float32) / 255
        side = math.isqrt(rows.shape[1])
        return torch.from_numpy(rows.reshape(-1, 1, side, side))

    @staticmethod
    def _deformed(images: Any) -> Any:
        """Each image turned, resized, sheared and shifted by random amounts."""
        import torch
        from torch.nn.functional import affine_grid, grid_sample

        def amounts(largest: float) -> Any:
            return (2 * torch.rand(len(images)) - 1) * largest

        turn, shear = amounts(math.radians(_TURN)), amounts(_SHEAR)
        wide, high = 1 + amounts(_SIZE), 1 + amounts(_SIZE)
        # Coordinates of pixels go from -1 to 1, so a shift by a share of the width is twice that share.
        right, down = amounts(2 * _SHIFT), amounts(2 * _SHIFT)
        cos, sin = torch.cos(turn), torch.sin(turn)
        rows = [torch.stack([wide * cos, shear - sin, right], 1), torch.stack([sin, high * cos, down], 1)]
        grid = affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
        return grid_sample(images, grid, align_corners=False)
