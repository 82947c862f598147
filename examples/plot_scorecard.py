"""
A scorecard for a table
=======================

A model that fits on a slip of paper: a few yes-or-no questions, points to add up, and a chance to read off.  The number
of questions is a hard limit, and bemi proves how far from the best card of that size this one can be.

The table comes with scikit-learn: measurements of 569 breast tumours, benign or malignant.  The card learns from 100 of
them.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from bemi import ScorecardClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)

clf = ScorecardClassifier(max_lines=5).fit(X_train, y_train)
card = clf.scorecard()
print(card)

# %%
# How good is it?  The proof says how much better the objective of any other card with five lines could be; the test
# rows say what the card is worth on new tumours.

(report,) = clf.reports_.values()
print(f"within {100 * report['soft'].gap:.1f} % of the best card of five lines: {report['soft'].proof}")
print(f"right on {100 * clf.score(X_test, y_test):.1f} % of {len(y_test)} other tumours")

# %%
# Does the chance hold?  Each circle is a total that occurs among the test rows: its height is the share of malignant
# tumours found there, its area the number of rows.  The line is the chance that the card gives.  ``card.figure()``
# draws the card itself, and ``card.html()`` is a page to print.

import matplotlib.pyplot as plt

totals = card.score(X_test)
chances = clf.predict_proba(X_test)[:, list(clf.classes_).index("malignant")]
malignant = (y_test == "malignant").to_numpy()

fig, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
for total in sorted(set(totals)):
    here = malignant[totals == total]
    ax.scatter(total, 100 * here.mean(), s=12 * len(here), color="#D55E00", alpha=0.35, linewidth=0)
    ax.annotate(f"{here.sum()} of {len(here)}", (total, 100 * here.mean()), ha="center", va="center", fontsize=9)
order = totals.argsort()
ax.plot(totals[order], 100 * chances[order], color="#0072B2", label="chance on the card")
ax.axvline(0, color="#888888", linewidth=0.8)
ax.text(0.6, 2, "above 0 the card says malignant", color="#666666")
ax.set(xlabel="total of points", ylabel="malignant, %", ylim=(-12, 112))
ax.margins(x=0.12)
ax.legend(loc="upper left", frameon=False)
plt.show()
