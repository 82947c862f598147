"""One classifier in several threads: whoever reads it sees one model, the one before a change or the one after it."""

from __future__ import annotations

import threading
import time

import numpy as np

import bemi
from bemi import BeMiClassifier, verify

SECONDS = 120


def blobs(classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 100, (classes, 5))
    return np.concatenate([c + rng.integers(-9, 10, (6, 5)) for c in centres]), np.repeat(np.arange(classes), 6)


def test_a_model_is_read_while_classes_are_added(tmp_path):
    X, y = blobs(5)
    old = y < 3
    model = BeMiClassifier((2,), node_limit=3, time_limit=None).fit(X[old], y[old])
    before = model.predict(X).tolist()
    after = BeMiClassifier((2,), node_limit=3, time_limit=None).fit(X[old], y[old]).add_classes(X[~old], y[~old])
    answers = (before, after.predict(X).tolist())
    assert answers[0] != answers[1]
    seen: list[tuple[str, object]] = []
    errors: list[BaseException] = []
    added = threading.Event()

    def repeated(name, action):
        def run():
            try:
                # At least once with the model before and once with the one after, whatever the machine does.
                done = False
                while not done:
                    done = added.is_set()
                    seen.append((name, action()))
            except BaseException as error:
                errors.append(error)

        return threading.Thread(target=run, daemon=True)

    def saved() -> int:
        bemi.save(model, tmp_path / "m.bemi")
        return len(bemi.load(tmp_path / "m.bemi").classes_)

    readers = [
        repeated("predict", lambda: model.predict(X).tolist()),
        repeated("vote", lambda: model.vote(X).label.tolist()),
        repeated("decision", lambda: model.decision_function(X).shape[1]),
        repeated("save", saved),
    ]
    deadline = time.monotonic() + SECONDS
    for reader in readers:
        reader.start()
    while {name for name, _ in seen} < {"predict", "vote", "decision", "save"} and not errors:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    adding = threading.Thread(target=lambda: (model.add_classes(X[~old], y[~old]), added.set()), daemon=True)
    adding.start()
    for thread in (adding, *readers):
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive(), "a call does not end"
    assert not errors, errors
    by_name = {name: [value for other, value in seen if other == name] for name, _ in seen}
    for name in ("predict", "vote"):
        assert all(value in answers for value in by_name[name])
        assert by_name[name][0] == answers[0]
        assert by_name[name][-1] == answers[1]
    for name in ("decision", "save"):
        assert set(by_name[name]) == {3, 5}
    assert verify(tmp_path / "m.bemi").networks == 10
