"""Checks what a trained ensemble claims, in exact integers, with the standard library alone."""

from bemi.certificate.arithmetic import CertificateError
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
