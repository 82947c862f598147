"""
A device in C, with its cost
============================

A model is integers only, so it runs on the smallest processors.  We export models of handwritten digits as C, see what
they cost before anything is compiled, and then compile them to compare.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bemi import BeMiClassifier, FewBitClassifier, IntegerHog
from bemi.export import c

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)
few_bit = FewBitClassifier(inputs=IntegerHog(), copies=None, C=10, probabilities=False, time_limit=None, node_limit=50)
models = {
    "pixels, hidden layers 4 and 4": BeMiClassifier(time_limit=None, node_limit=5),
    "gradient histograms, weights -1..1": clone(few_bit).set_params(weight_bound=1),
    "gradient histograms, weights -7..7": clone(few_bit).set_params(weight_bound=7),
}
for model in models.values():
    model.fit(X_train, y_train)

# %%
# Export writes a header and a source file, and says what they need at most on a Cortex-M3:

folder = tempfile.TemporaryDirectory()
exports = {}
for number, (name, model) in enumerate(models.items()):
    exports[name] = c.write(model, Path(folder.name, str(number)), optimize="size")
    print(f"{name}: {100 * model.score(X_test, y_test):.1f} % right")
    print("\n".join(exports[name].costs.in_words()[1:]))

# %%
# The C code gives the same labels as Python.  Any C99 compiler will do:

compiler = shutil.which("cc") or shutil.which("gcc")
if compiler is None:
    print("no C compiler found: the labels are not compared here")
else:
    text = "\n".join(" ".join(map(str, row)) for row in X_test.astype(int))
    for number, (name, model) in enumerate(models.items()):
        here = Path(folder.name, str(number))
        sources = ["-I.", "bemi_model.c", "example/main.c"]
        subprocess.run([compiler, "-std=c99", "-O2", *sources, "-o", "predict"], cwd=here, check=True)
        labels = subprocess.run([here / "predict"], input=text, text=True, capture_output=True, check=True).stdout
        equal = np.array(labels.split(), dtype=int) == model.predict(X_test)
        print(f"{name}: {equal.sum()} of {len(equal)} labels are the same in C")

# %%
# How large is it really?  A cross compiler for the Cortex-M3 knows:

measured = {}
if shutil.which("arm-none-eabi-gcc") is None:
    print("arm-none-eabi-gcc is not installed: the picture shows the upper limits that the export states")
else:
    for number, name in enumerate(models):
        here = Path(folder.name, str(number))
        flags = ["-std=c99", "-Os", "-mcpu=cortex-m3", "-mthumb", "-c", "bemi_model.c", "-o", "bemi_model.o"]
        subprocess.run(["arm-none-eabi-gcc", *flags], cwd=here, check=True)
        size = subprocess.run(
            ["arm-none-eabi-size", "bemi_model.o"], cwd=here, text=True, capture_output=True, check=True
        )
        measured[name] = int(size.stdout.splitlines()[1].split()[0])
        print(f"{name}: {measured[name]} bytes of flash, {exports[name].costs.flash} stated")

# %%
# Flash that each model takes, beside the flash of three small chips:

import matplotlib.pyplot as plt

CHIPS = {"LPC810": 4, "STM32F030F4": 16, "STM32F103C6": 32}
fig, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
for place, name in enumerate(models):
    costs = exports[name].costs
    flash = measured.get(name, costs.flash)
    ax.barh(place, costs.tables / 1024, color="#0072B2", height=0.6)
    ax.barh(place, (flash - costs.tables) / 1024, left=costs.tables / 1024, color="#56B4E9", height=0.6)
for chip, kilobytes in CHIPS.items():
    ax.axvline(kilobytes, color="#D55E00", linestyle=":", zorder=0)
    ax.text(kilobytes, -0.75, chip, color="#D55E00", ha="center", fontsize=9)
names = [
    f"{name}\n{100 * model.score(X_test, y_test):.1f} % right, {exports[name].costs.stack} bytes of stack"
    for name, model in models.items()
]
ax.set_yticks(range(len(models)), names)
ax.set(xlabel="kilobytes of flash: tables dark, code light", xlim=(0, 34), ylim=(len(models) - 0.5, -0.6))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
folder.cleanup()
