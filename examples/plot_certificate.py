"""
What a certificate proves, followed by hand
===========================================

bemi does not only say "this is the best network": it writes down why.  Here the problem is so small that we can follow
the proof with pencil and paper, and then try *all* networks to see that it is right.

Four animals, three measurements, two classes.  The network has one hidden layer of two neurons, and all weights are
-1, 0 or 1.
"""

import numpy as np

import bemi

X = np.array([[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]])
y = ["cat", "cat", "dog", "dog"]
clf = bemi.BeMiClassifier(hidden_layers=(2,), stages=("sm", "mm")).fit(X, y)
(network,) = clf.networks_.values()
report = clf.reports_["cat", "dog"]["mm"]
print(f"sum of margins {report.objective}, and no network has more than {report.bound}: {report.proof}")

# %%
# **The objective.**  The margin of a neuron is its smallest distance from zero over all rows: how far it is from
# changing its mind.  Max-Margin adds up the margins of all neurons.  These are the sums of the hidden neurons, a row
# per animal:

first, second = network.weights
print("weights of neuron 0:", first[:, 0], " of neuron 1:", first[:, 1])
print(X @ first)
print("their margins:", abs(X @ first).min(axis=0))

# %%
# The output adds the signs of the neurons, times its own weights, and has a margin of 1.  3 + 5 + 1 = 9.
#
# **The proof.**  Could a network reach 10?  One fact is enough.  Weights are at most 1, so a neuron that gives two rows
# *different* signs with margin m has ``2 m <= |a - b|``, where ``|a - b|`` is the sum of the absolute differences of
# the rows; and no margin is larger than the sum of the entries of any row.
#
# *Step 1.*  The rows sum to 8, 7, 5 and 8, so no neuron's margin exceeds 5.

print(abs(X).sum(axis=1))

# %%
# *Step 2.*  The output contributes at most 2, since it has two inputs.  So the hidden neurons of a better network need
# 8 together, and the one with the larger margin needs at least 4.
#
# *Step 3.*  That one cannot tell any two rows apart, except perhaps those with ``|a - b| >= 8``:

print(abs(X[:, None] - X[None]).sum(axis=2))

# %%
# Rows 0 and 1 agree (3 is less than 8), rows 2 and 3 agree (3 again), and rows 1 and 3 agree (7).  So all four agree:
# this neuron gives every animal the same sign.
#
# *Step 4.*  Then the *other* neuron must tell cats from dogs.  Its margin is at most 7 / 2, so 3, because of rows 1 and
# 3.
#
# *Step 5.*  With one neuron that says the same about everybody, the output's margin is at most 1.
#
# *Step 6.*  3 + 5 + 1 = 9, which is less than 10.  There is no better network.
#
# The certificate holds the numbers of steps 1, 4 and 6: 5 for any neuron, 3 for one that tells cats from dogs, 9 in
# all.  The checker needs nothing but Python's standard library, and believes nothing: if somebody changes step 1 to "no
# neuron's margin exceeds 4", it says so.

import gzip
import json
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    model = Path(folder, "animals.bemi")
    bemi.save(clf, model)
    print("bounds that hold:", dict(bemi.verify(model).certified))
    certificate = Path(folder, "animals.bemi.cert")
    claims = json.loads(gzip.decompress(certificate.read_bytes()))
    claims["networks"][0][1]["certificate"]["any"] = 4
    certificate.write_bytes(gzip.compress(json.dumps(claims).encode()))
    try:
        bemi.verify(model)
    except bemi.certificate.CertificateError as error:
        print("a forged step:", error)

# %%
# **Everything there is.**  With two neurons there are 3\ :sup:`8` = 6,561 networks.  We try them all: those that get
# all four animals right, by the sum of their margins.

from itertools import product

import matplotlib.pyplot as plt

targets = np.array([1, 1, -1, -1])
reached = []
for weights in product((-1, 0, 1), repeat=8):
    other = bemi.Network([np.reshape(weights[:6], (3, 2)), np.reshape(weights[6:], (2, 1))], 1)
    hidden, output = other.pre_activations(X)
    if (output[:, 0] * targets > 0).all():
        reached.append(abs(hidden).min(axis=0).sum() + abs(output).min())

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
sums, counts = np.unique(reached, return_counts=True)
bars = ax.bar(sums, counts, width=0.85, color=["#0072B2" if s < report.objective else "#009E73" for s in sums])
ax.bar_label(bars)
ax.axvspan(report.bound + 0.5, 14, color="#D55E00", alpha=0.15, linewidth=0)
ax.axvline(report.bound + 0.5, color="#D55E00")
ax.text(report.bound + 0.7, 0.9 * counts.max(), "proved empty,\nwithout trying", color="#8a3d00", va="top")
above = (report.objective, 0.25 * counts.max())
ax.annotate("ours", (report.objective, counts[-1] + 12), above, ha="center", arrowprops={"arrowstyle": "->"})
ax.set(
    xlabel="sum of margins", ylabel=f"networks, of {len(reached)} without a mistake", xlim=(0, 13), xticks=range(1, 13)
)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
