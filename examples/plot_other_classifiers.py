"""
Beside an SVM and a forest
==========================

How accurate is a network of small integers beside the usual floating-point models, and how large are they?  All three
learn from the same few rows of scikit-learn's table of breast tumours and are tested on all others, three draws each.

One table says little; :doc:`/reports/tables` compares on fourteen.
"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bemi import FewBitClassifier
from bemi.export import c

X, y = load_breast_cancer(return_X_y=True)
SIZES, DRAWS = (20, 50, 100), 3


# The settings of the SVM are chosen by cross-validation, as bemi's are.
SVM_SETTINGS = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.003, 0.01, 0.03, 0.1]}
SYSTEMS = {
    "FewBitClassifier": FewBitClassifier(random_state=0),
    "SVM, RBF kernel": GridSearchCV(make_pipeline(StandardScaler(), SVC()), SVM_SETTINGS),
    "random forest, 100 trees": RandomForestClassifier(random_state=0),
}


def size(model) -> int:
    """Bytes on a device: bemi's C with its tables; without code, the SVM's 4-byte numbers and 8-byte nodes of trees."""
    if isinstance(model, GridSearchCV):
        svm = model.best_estimator_["svc"]
        return 4 * (svm.support_vectors_.size + svm.dual_coef_.size)
    if isinstance(model, RandomForestClassifier):
        return 8 * sum(tree.tree_.node_count for tree in model.estimators_)
    return c.export(model).costs.flash


accuracy = {name: np.zeros((len(SIZES), DRAWS)) for name in SYSTEMS}
bytes_needed = {name: np.zeros((len(SIZES), DRAWS)) for name in SYSTEMS}
for i, rows in enumerate(SIZES):
    for draw in range(DRAWS):
        split = train_test_split(X, y, train_size=rows, stratify=y, random_state=draw)
        X_train, X_test, y_train, y_test = split
        for name, system in SYSTEMS.items():
            model = clone(system).fit(X_train, y_train)
            accuracy[name][i, draw] = 100 * model.score(X_test, y_test)
            bytes_needed[name][i, draw] = size(model)
for name, values in accuracy.items():
    print(f"{name:25}", "  ".join(f"{mean:.1f} %" for mean in values.mean(axis=1)))

# %%
# Lines are means over the draws, dashes the single draws.  With few rows, models differ less than draws do; with
# 100, the SVM is a little ahead here.

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for name, colour in zip(SYSTEMS, ("#0072B2", "#D55E00", "#009E73")):
    for ax, values in ((left, accuracy[name]), (right, bytes_needed[name] / 1024)):
        ax.plot(SIZES, values, "_", color=colour, markersize=12)
        ax.plot(SIZES, values.mean(axis=1), "o-", color=colour, label=name)
left.set(ylabel="test accuracy, %")
right.set(ylabel="size, kilobytes", yscale="log", yticks=[1, 10, 100], yticklabels=[1, 10, 100])
left.legend(frameon=False, loc="lower right")
for ax in (left, right):
    ax.set(xlabel="training rows", xticks=SIZES)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
