"""Checks the claims of a trained ensemble in exact integers, with only the standard library."""

from bemi.certificate.arithmetic import Rows, Table, training_digest
from bemi.certificate.budget import Sizes, needed_budget
from bemi.certificate.limits import DEFAULT_BUDGET, CertificateError, Work
from bemi.certificate.reading import FORMAT, TrainingRecord, certificate_path, training_record
from bemi.certificate.verification import Verification, verify

__all__ = [
    "DEFAULT_BUDGET",
    "FORMAT",
    "CertificateError",
    "Rows",
    "Sizes",
    "Table",
    "TrainingRecord",
    "Verification",
    "Work",
    "certificate_path",
    "needed_budget",
    "training_digest",
    "training_record",
    "verify",
]
