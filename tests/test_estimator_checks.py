"""scikit-learn's own checks, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from bemi import BeMiClassifier

# Node limits make the solver deterministic, which several checks need.
ESTIMATORS = [
    BeMiClassifier(hidden_layers=(2, 2), node_limit=1, time_limit=None),
    BeMiClassifier(hidden_layers=(), node_limit=1, time_limit=None),
    BeMiClassifier(hidden_layers=(), weight_bound=7, stages=("ml2", "mw"), node_limit=1, time_limit=None),
    BeMiClassifier(hidden_layers=(2,), engine="monolithic", node_limit=1, time_limit=None),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
