"""A null in place of any value of a certificate: refused, unless the second checker accepts it, too."""

import copy

import pytest
import second_checker
from certificate_mutants import genuine, places

from bemi.certificate import CertificateError, Work, verification

MODELS = genuine()


def accepted(header, weights, claims):
    try:
        verification._check(header, weights, claims, verification.Verification(digest=claims["model"]), Work(30))
    except CertificateError:
        return False
    return True


def accepted_by_the_second(header, weights, claims):
    try:
        second_checker.whole_file(header, weights, claims["model"], claims)
    except second_checker.Refused:
        return False
    return True


@pytest.mark.parametrize("title", MODELS)
def test_a_null_is_never_taken_for_a_proof(title):
    header, weights, claims = MODELS[title]
    assert accepted(header, weights, claims)
    for path in places(claims["networks"]):
        changed = copy.deepcopy(claims)
        node = changed["networks"]
        for key in path[:-1]:
            node = node[key]
        if node[path[-1]] is None:
            continue
        node[path[-1]] = None
        # Steps after a node is closed are not read, and a stage may have no proof.
        if accepted(header, weights, changed):
            assert accepted_by_the_second(header, weights, changed), path


def test_a_merge_without_a_tree_is_refused():
    """The checker once took a null for its own mark: a merge without a reason, from which any bound would follow."""
    header, weights, claims = copy.deepcopy(MODELS["weights"])
    step = claims["networks"][0][1]["certificate"]["tree"][2]
    assert step[0] == "M"
    step[4] = None
    with pytest.raises(CertificateError, match="a tree is malformed"):
        verification._check(header, weights, claims, verification.Verification(digest=claims["model"]), Work(30))
    step[4] = ["T", 0, None, None]
    with pytest.raises(CertificateError, match=r"a tree is malformed|has a sign already"):
        verification._check(header, weights, claims, verification.Verification(digest=claims["model"]), Work(30))
