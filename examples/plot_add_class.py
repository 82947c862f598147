"""
Adding a class
==============

A model knows the digits 0 to 8.  Then somebody brings a few images of 9.  Since every network tells only two classes
apart, nothing needs to be trained again: nine new networks join the 36 that are there.
"""

import time

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bemi import FewBitClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)
old, new = y_train < 9, y_train == 9

# The networks see the pixels, so their 64 weights are an image.  A limit on work keeps this page quick.
clf = FewBitClassifier(inputs=None, copies=None, C=10, time_limit=None, node_limit=10)
began = time.perf_counter()
clf.fit(X_train[old], y_train[old])
first = clf.networks_
print(f"{len(first)} networks for digits 0 to 8, trained in {time.perf_counter() - began:.1f} s")

# %%
# The new class:

began = time.perf_counter()
clf.add_classes(X_train[new], y_train[new])
print(f"{len(clf.networks_) - len(first)} new networks, trained in {time.perf_counter() - began:.1f} s")
print(f"{100 * clf.score(X_test, y_test):.1f} % of the test images of all ten digits are right")

# %%
# The old networks are the same, bit for bit:

print(all((clf.networks_[pair].weights[0] == network.weights[0]).all() for pair, network in first.items()))

# %%
# All 45 networks as images of their weights.  Purple pixels speak for the digit of the row, orange ones for that of the
# column.  The framed ones are new.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(10, 10, figsize=(8, 8))
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
for (a, b), network in clf.networks_.items():
    image = network.weights[0].reshape(8, 8)
    axes[a, b].imshow(image, cmap="PuOr", vmin=-7, vmax=7)
    axes[b, a].imshow(-image, cmap="PuOr", vmin=-7, vmax=7)
    for ax in (axes[a, b], axes[b, a]):
        ax.spines[:].set(visible=b == 9, color="black", linewidth=1.5)
for digit in range(10):
    axes[digit, 0].set_ylabel(digit, rotation=0, fontsize=14, labelpad=14, va="center", weight="bold")
    axes[0, digit].set_title(digit, fontsize=14, weight="bold")
fig.subplots_adjust(left=0.06, right=0.99, top=0.95, bottom=0.01, wspace=0.06, hspace=0.06)
plt.show()
