"""Rows and labels that nothing can be learnt from: one clear line each, from every estimator."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier

X = np.arange(24.0).reshape(8, 3)
Y = np.array([0, 1] * 4)
NO_LABEL = np.array(["a", None] + ["a", "b"] * 3, dtype=object)
TIMES = pd.DataFrame({"size": X[:, 0], "wait": pd.to_timedelta(np.arange(8), unit="h")})

CASES = {
    "sparse": (csr_array(X), Y, TypeError, r"sparse matrix.* X\.toarray\(\)"),
    "no rows": (X[:0], Y[:0], ValueError, r"no rows to train on"),
    "no rows of a data frame": (pd.DataFrame(X[:0]), Y[:0], ValueError, r"no rows to train on"),
    "no columns": (X[:, :0], Y, ValueError, r"no columns"),
    "no columns of a data frame": (pd.DataFrame(index=range(8)), Y, ValueError, r"no columns"),
    "None in y": (X, NO_LABEL, ValueError, r"row 1 has no label .*; leave such rows out"),
    "NaN in y": (X, np.where(Y == 1, np.nan, 0.0), ValueError, r"row 1 has no label"),
    "a series with None": (pd.DataFrame(X), pd.Series(NO_LABEL), ValueError, r"row 1 has no label"),
    "durations": (TIMES, Y, ValueError, r"column 'wait' holds durations; replace it by numbers"),
    "one name twice": (
        pd.concat([TIMES[["size"]]] * 2, axis=1),
        Y,
        ValueError,
        r"two columns are named 'size'; rename",
    ),
    "complex": (X + 1j, Y, ValueError, r"Complex data not supported: give real numbers"),
    "dates": (TIMES.assign(wait=pd.Timestamp("2020-02-02")), Y, ValueError, r"column 'wait' holds dates"),
}


@pytest.mark.parametrize("estimator", [BeMiClassifier, FewBitClassifier, ScorecardClassifier])
@pytest.mark.parametrize("case", CASES)
def test_one_clear_line(case, estimator):
    rows, labels, kind, message = CASES[case]
    with pytest.raises(kind, match=message) as raised:
        estimator(time_limit=1.0).fit(rows, labels)
    assert "\n" not in str(raised.value)


def test_a_table_is_told_nothing_of_n_x_n():
    fitted = FewBitClassifier(C=1.0, node_limit=2, time_limit=None, probabilities=False).fit(X, Y)
    assert fitted.choice_.why == "not images: 3 columns cannot be the pixels of a square image"
