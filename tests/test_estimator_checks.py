"""scikit-learn's own checks, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from bemi import BeMiClassifier

# Node limits make the solver deterministic, which several checks need.
ESTIMATORS = [
    BeMiClassifier(hidden_layers=(2,), node_limit=1, time_limit=None),
    BeMiClassifier(hidden_layers=(), node_limit=1, time_limit=None),
    BeMiClassifier(hidden_layers=(), weight_bound=7, stages=("soft", "mw"), node_limit=1, time_limit=None),
    BeMiClassifier(hidden_layers=(2,), engine="monolithic", node_limit=1, time_limit=None),
    BeMiClassifier(
        hidden_layers=(), weight_bound=7, stages=("soft",), probabilities=True, node_limit=1, time_limit=None
    ),
]


def expected_failures(estimator):
    chances = {
        "check_classifiers_train": "the label with the largest chance is not always the predicted one",
        "check_sample_weight_equivalence_on_dense_data": "a row given twice may fall into two folds",
    }
    if "soft" in estimator.stages:
        # Rows are weighted here as the check asks, but its classes overlap, and without a constant input nothing tells
        # them apart.  tests/test_weights_and_limits.py has such an input.
        found = {"check_class_weight_classifiers": "without a bias no network gives one class everywhere"}
        return found | chances if estimator.probabilities else found
    return {
        "check_sample_weights_not_overwritten": "these stages count rows and refuse weights that differ",
        "check_sample_weight_equivalence_on_dense_data": "these stages count rows and refuse weights that differ",
        "check_class_weight_classifiers": "these stages count rows and refuse class weights",
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_check(estimator, check):
    check(estimator)
