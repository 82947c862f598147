"""On the paper's images, our networks have the paper's accuracies."""

import numpy as np
import pytest
from bemi_lab import datasets
from bemi_lab.experiments import spec

from bemi import BeMiClassifier

HERE = datasets.is_here("mnist")


@pytest.mark.skipif(not HERE, reason="MNIST is not here")
@pytest.mark.parametrize("per_class", [2, 6, 10])
def test_single_networks_of_experiment_5_have_the_papers_mean_accuracy(per_class):
    experiment = spec.load("exp5")
    published = experiment.paper.values[spec.Cell(classes=(4, 9), per_class=per_class)]["accuracy"]
    mnist = datasets.load("mnist")

    def accuracy(**rule):
        found = []
        for index in range(5):
            rows = datasets.sample(mnist, per_class, index, classes=(4, 9), **rule)
            network = BeMiClassifier(time_limit=5.0, n_jobs=1).fit(rows.train_X, rows.train_y)
            found.append(100 * np.mean(network.predict(rows.test_X) == rows.test_y))
        return np.mean(found)

    assert accuracy(rule="paper", sizes=experiment.paper.sizes) == pytest.approx(published, abs=1)
    # The test can fail: on random images it does.
    assert accuracy(rule="random") != pytest.approx(published, abs=1)
