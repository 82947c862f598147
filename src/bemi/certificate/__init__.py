"""Checks the claims of a trained ensemble in exact integers, with only the standard library."""

from bemi.certificate.limits import CertificateError
from bemi.certificate.verification import (
    FORMAT,
    TrainingRecord,
    Verification,
    certificate_path,
    training_digest,
    training_record,
    verify,
)

__all__ = [
    "FORMAT",
    "CertificateError",
    "TrainingRecord",
    "Verification",
    "certificate_path",
    "training_digest",
    "training_record",
    "verify",
]
