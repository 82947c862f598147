"""Checks the claims of a trained ensemble in exact integers, with only the standard library."""

from bemi.certificate.limits import DEFAULT_BUDGET, CertificateError
from bemi.certificate.verification import (
    FORMAT,
    TrainingRecord,
    Verification,
    certificate_path,
    needed_budget,
    training_digest,
    training_record,
    verify,
)

__all__ = [
    "DEFAULT_BUDGET",
    "FORMAT",
    "CertificateError",
    "TrainingRecord",
    "Verification",
    "certificate_path",
    "needed_budget",
    "training_digest",
    "training_record",
    "verify",
]
