"""
Digits in four lines
====================

Handwritten digits of 8 x 8 pixels, ten of each to learn from, and 1,697 to be tested on.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bemi import FewBitClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)
clf = FewBitClassifier().fit(X_train, y_train)
print(f"{100 * clf.score(X_test, y_test):.1f} % of {len(y_test)} test images are right")

# %%
# Those were the four lines.  :class:`bemi.FewBitClassifier` looks at the rows, recognizes images, chooses among a few
# settings by cross-validation on the training rows, and says what to expect of new ones:

print(clf.choice_.in_words())

# %%
# The classifier is 45 small networks, one for each pair of digits, which vote.  Their weights are integers from -7 to
# 7, and each network comes with a proof of how much better any other network could be:

gaps = [100 * report["soft"].gap for report in clf.reports_.values()]
print(f"{len(clf.networks_)} networks, on average within {sum(gaps) / len(gaps):.1f} % of the best possible")

# %%
# All images that it gets wrong, with its answer in orange and the right one in grey.  Some of them we would not be sure
# about either.

import matplotlib.pyplot as plt

predicted = clf.predict(X_test)
wrong = (predicted != y_test).nonzero()[0]
wrong = wrong[y_test[wrong].argsort(kind="stable")]
columns = 14
fig, axes = plt.subplots(-(-len(wrong) // columns), columns, figsize=(9, 0.75 * -(-len(wrong) // columns)))
for ax in axes.flat:
    ax.set_axis_off()
for ax, row in zip(axes.flat, wrong):
    ax.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    ax.text(8.6, 2.5, predicted[row], color="#D55E00", fontsize=13, va="center", weight="bold")
    ax.text(8.6, 6, y_test[row], color="#888888", fontsize=10, va="center")
fig.subplots_adjust(left=0.01, right=0.98, top=0.98, bottom=0.02, wspace=0.6)
plt.show()
