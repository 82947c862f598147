"""
Reproducing one figure of the paper
===================================

Do more bits per weight help?  The paper's figure ``fig:bnn_vs_inn`` trains one network that tells 4 from 9, with
weights in {-P..P} for P = 1, 3, 7 and 15, on 2 to 40 images of each digit, five samples each.  Its answer is no:
all curves are alike.  We draw the same figure.

One thing differs.  The paper takes MNIST, 28 x 28 pixels; here the images are those that come with scikit-learn, 8 x 8
pixels, so that nothing needs downloading.  On them 4 and 9 are easier to tell apart, so compare the shape of the
curves, not their height.  ``bemi-lab reproduce exp5`` runs the experiment on MNIST, and :doc:`/reports/exp5` has what
it gave.
"""

import numpy as np
from bemi_lab import datasets

from bemi import BeMiClassifier

digits = datasets.load("digits")
BOUNDS, SIZES, SAMPLES = (1, 3, 7, 15), (2, 6, 10, 20, 30, 40), 5
accuracy = np.zeros((len(BOUNDS), len(SIZES), SAMPLES))
weights = {bound: [] for bound in BOUNDS}
for i, bound in enumerate(BOUNDS):
    for j, size in enumerate(SIZES):
        for sample in range(SAMPLES):
            rows = datasets.sample(digits, per_class=size, index=sample, classes=[4, 9])
            # A limit on work instead of time: the same networks on every run.
            clf = BeMiClassifier(weight_bound=bound, node_limit=50, time_limit=None).fit(rows.train_X, rows.train_y)
            accuracy[i, j, sample] = 100 * clf.score(rows.test_X, rows.test_y)
            weights[bound] += [layer.ravel() for layer in clf.networks_[4, 9].weights]

for bound, means in zip(BOUNDS, accuracy.mean(axis=2)):
    print(f"P = {bound:2}: ", "  ".join(f"{mean:.1f} %" for mean in means))

# %%
# Left: lines are means over the samples, bands reach from the smallest to the largest, and the dashed line is the
# paper's mean for P = 1, on MNIST.  Right: why more bits do not help.  Margins grow with the weights, so almost all
# weights are as large as they may be, or 0 once ``mw`` has removed them; hardly any are between.

import matplotlib.pyplot as plt

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00")
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(3, 2), layout="constrained")
for bound, values, colour in zip(BOUNDS, accuracy, COLOURS):
    left.fill_between(SIZES, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.12, linewidth=0)
    left.plot(SIZES, values.mean(axis=1), "o-", color=colour, label=f"P = {bound}")
left.plot(SIZES, [60.43, 72.48, 71.45, 82.79, 87.11, 87.90], "k--", linewidth=1, label="the paper, P = 1, on MNIST")
left.set(xlabel="training images per digit", xticks=SIZES, ylabel="test accuracy, %")
left.legend(frameon=False, loc="lower right")

for i, (bound, colour) in enumerate(zip(BOUNDS, COLOURS)):
    values = np.concatenate(weights[bound])
    between = (values != 0) & (abs(values) < bound)
    shares = [100 * np.mean(part) for part in (values == -bound, values == 0, values == bound, between)]
    right.bar(np.arange(4) + 0.2 * (i - 1.5), shares, width=0.18, color=colour)
right.set_xticks(range(4), ["-P", "0", "P", "between"])
right.set(ylabel="share of the weights, %")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
