"""
Gestures from a wrist sensor
============================

An accelerometer on the wrist, 50 samples a second.  Which gesture is the person making?  Six people recorded each
gesture for ten seconds; the model is for a seventh person.

The recordings here are **synthetic**: made in this script, so that it needs no download.  Each gesture is a movement
with a rhythm and a direction of its own, and each person has a pace, a strength and a way to wear the watch.
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
RATE = 50  # samples a second
GESTURES = {  # beats a second, and the strength of each axis in mg, for the beat and for its first overtone
    "still": (0.3, (15, 10, 10), (5, 5, 5)),
    "wave": (1.6, (600, 200, 100), (80, 200, 60)),
    "knock": (2.2, (120, 150, 450), (60, 100, 500)),
    "circle": (1.1, (450, 450, 80), (50, 60, 50)),
    "clap": (2.6, (250, 450, 120), (200, 450, 120)),
}


def tilt() -> np.ndarray:
    """A slightly different way to wear the watch: a rotation."""
    rotation, _ = np.linalg.qr(np.eye(3) + rng.normal(0, 0.18, (3, 3)))
    return rotation * np.sign(np.diag(rotation))


def recorded(person: str, gestures: list[str], seconds: int) -> pd.DataFrame:
    """One recording, gesture after gesture, in mg."""
    pace, strength, rotation = rng.normal(1, 0.1), rng.normal(1, 0.2), tilt()
    phase, parts = 0.0, []
    for gesture in gestures:
        beats, first, second = GESTURES[gesture]
        # Nobody keeps time or strength exactly.
        slow = np.cumsum(rng.normal(0, 0.03, (2, seconds * RATE)), axis=1)
        beat = phase + np.cumsum(2 * np.pi * beats * pace / RATE * np.exp(slow[0] / 2))
        phase = beat[-1]
        turn = np.array([0, np.pi / 2, np.pi / 4])
        moved = first * np.sin(beat[:, None] + turn) + second * np.sin(2 * beat[:, None] + turn)
        sensed = strength * np.exp(slow[1])[:, None] * moved @ rotation + [0, 0, 1000] @ rotation
        sensed += rng.normal(0, 60, moved.shape)
        parts.append(pd.DataFrame(sensed.round().astype(int), columns=["x", "y", "z"]).assign(gesture=gesture))
    return pd.concat(parts, ignore_index=True).assign(person=person)


table = pd.concat(recorded(person, list(GESTURES), 10) for person in "ABCDEF")
print(table.head(3).to_string(index=False))

# %%
# From the table to windows of 64 samples, 1.3 seconds, and from these to a model.  No window contains two gestures, and
# ``groups`` keeps the windows of a person together, so the expected accuracy is that on *other people*.

import bemi

found = bemi.windows(table, 64, 64, id="person", target="gesture")
print(found)
clf = bemi.FewBitClassifier(random_state=0).fit(found.X, found.y, groups=found.groups)
print(clf.choice_.in_words())

# %%
# The seventh person makes all gestures in a row.  A window every 8 samples gets a label, and the last five labels vote,
# which keeps the answer from flickering (:class:`bemi.Smoothing`).  The exported C code does the same on the watch.

new = recorded("G", ["still", "wave", "still", "clap", "circle", "knock", "wave", "still"], 5)
ends = np.arange(64, len(new) + 1, 8)
windows = np.stack([new[["x", "y", "z"]].to_numpy()[end - 64 : end] for end in ends])
truth = new["gesture"].to_numpy()[ends - 1]
labels = clf.predict(windows)
smooth = bemi.Smoothing(length=5, votes=3)(labels)
print(f"right at {100 * np.mean(labels == truth):.0f} % of the times, changes of gesture included")

# %%
# What the sensor saw, and below it what the person did and what the model said.  The answer comes late by up to a
# window, because it takes that long until a window holds nothing but the new gesture.

import matplotlib.pyplot as plt

colours = dict(zip(GESTURES, ("#BBBBBB", "#0072B2", "#D55E00", "#009E73", "#E69F00")))
seconds = np.arange(len(new)) / RATE
fig, (signal, strip) = plt.subplots(2, 1, figsize=(10, 5), sharex=True, height_ratios=(3, 1.1), layout="constrained")
for offset, (axis, colour) in enumerate(zip("zyx", ("#444444", "#777777", "#111111"))):
    signal.plot(seconds, (new[axis] - new[axis].median()) / 1000 + 2.5 * offset, color=colour, linewidth=0.7)
signal.set(yticks=[0, 2.5, 5], yticklabels=["z", "y", "x"], ylim=(-1.3, 6.9), ylabel="acceleration, without gravity")
rows = {"smoothed": (smooth, ends), "each window": (labels, ends), "truth": (new["gesture"], np.arange(len(new)))}
for line, (given, times) in enumerate(rows.values()):
    shown = [colours.get(label, "white") for label in given]
    strip.bar(times / RATE, 0.8, width=(times[1] - times[0]) / RATE, bottom=line, color=shown, align="edge")
strip.set(yticks=[0.4, 1.4, 2.4], yticklabels=list(rows), xlabel="seconds", xlim=(0, 40))
for start in range(0, len(new), 5 * RATE):
    signal.text(start / RATE + 2.5, 6.4, new["gesture"].iloc[start], ha="center", weight="bold")
    signal.axvspan(start / RATE, start / RATE + 5, color=colours[new["gesture"].iloc[start]], alpha=0.12, linewidth=0)
for ax in (signal, strip):
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
plt.show()
