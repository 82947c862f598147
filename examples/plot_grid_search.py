"""
Grid search in a pipeline
=========================

bemi's classifiers are scikit-learn classifiers, so pipelines, cross-validation and grid search work as usual.  Here a
pipeline first selects the k best columns of a table and then trains a network.  How many columns does it need,
and how large should its weights be?
"""

from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from bemi import ConstantInput, FewBitClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, stratify=y, random_state=0)

pipeline = Pipeline(
    [
        ("select", SelectKBest(k=10)),
        ("network", FewBitClassifier("table", inputs=ConstantInput(), copies=None, C=1)),
    ]
)
grid = {"select__k": [1, 2, 5, 10, 30], "network__weight_bound": [1, 3, 7, 15]}
search = GridSearchCV(pipeline, grid, cv=5).fit(X_train, y_train)

print("best:", search.best_params_)
print(f"cross-validated {100 * search.best_score_:.1f} %, on new rows {100 * search.score(X_test, y_test):.1f} %")

# %%
# The network of the best pipeline is an ordinary one, with its proof:

(report,) = search.best_estimator_["network"].reports_.values()
print(
    f"{report['soft'].links} links, within {100 * report['soft'].gap:.1f} % of the best network: {report['soft'].proof}"
)

# %%
# Every cell of the grid, with its standard error over the folds.  Cells within one standard error of the best are
# printed bold: among these, take the smallest model.

import matplotlib.pyplot as plt
import numpy as np

shape = (len(grid["network__weight_bound"]), len(grid["select__k"]))
mean = 100 * search.cv_results_["mean_test_score"].reshape(shape)
error = 100 * search.cv_results_["std_test_score"].reshape(shape) / np.sqrt(5)
enough = mean.max() - error.flat[mean.argmax()]
fig, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
picture = ax.imshow(mean, cmap="YlGnBu", aspect="auto")
for (row, column), value in np.ndenumerate(mean):
    ax.text(
        *(column, row, f"{value:.1f}\n\u00b1 {error[row, column]:.1f}"),
        **{"ha": "center", "va": "center", "weight": "bold" if value >= enough else "normal"},
        color="white" if value > (mean.min() + mean.max()) / 2 else "black",
    )
ax.set_xticks(range(shape[1]), grid["select__k"])
ax.set_yticks(range(shape[0]), [f"-{bound}..{bound}" for bound in grid["network__weight_bound"]])
ax.set(xlabel="columns", ylabel="weights")
fig.colorbar(picture, label="cross-validated accuracy, %")
plt.show()
