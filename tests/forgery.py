"""Model files and certificates as a forger writes them: anything goes, and all digests fit."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from second_checker import format_4

from bemi.certificate import FORMAT, training_digest
from bemi.modelfile.container import SCHEMA

_PREFIX = struct.Struct("<4sHI")


def opened(path: Path) -> tuple[dict, bytes, dict]:
    """Header, packed weights and certificate of a model."""
    content = path.read_bytes()
    end = _PREFIX.size + _PREFIX.unpack_from(content)[2]
    claims = json.loads(gzip.decompress(Path(f"{path}.cert").read_bytes()))
    return json.loads(content[_PREFIX.size : end]), content[end:-32], claims


def forged(path: Path, header: dict, weights: bytes, claims: dict | bytes) -> Path:
    """Write a model and a certificate that names it."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    body = _PREFIX.pack(b"BEMI", SCHEMA, len(text)) + text + weights
    digest = hashlib.sha256(body)
    path.write_bytes(body + digest.digest())
    if isinstance(claims, dict):
        claims = json.dumps(claims | {"model": digest.hexdigest()}, separators=(",", ":")).encode()
    Path(f"{path}.cert").write_bytes(gzip.compress(claims, 6, mtime=0))
    return path


def bits(weights: list[int], bound: int) -> bytes:
    """Weights as a model file has them."""
    width = (2 * bound).bit_length()
    text = "".join(f"{w + bound:0{width}b}" for w in weights)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")


def with_kind(stage: str, proof: Any) -> Any:
    """A proof with the kind that its members tell, unless it has one."""
    if not isinstance(proof, dict) or "kind" in proof:
        return proof
    return {"kind": format_4({"stage": stage, "certificate": proof})["certificate"]["kind"], **proof}


def made_up(
    path: Path,
    rows: list[list[int]],
    labels: list[int],
    hidden: list[int],
    bound: int,
    weights: list[int],
    stages: dict[str, tuple[int, Any]],
) -> Path:
    """A model of one network with these rows and weights, and by stage an objective, also the bound, and a proof."""
    reports = [
        {"stage": name, "objective": value, "bound": value, "proof": "certified", "message": "", "outcome": "optimal"}
        | {"links": sum(map(bool, weights)), "rows": len(rows)}
        for name, (value, _) in stages.items()
    ]
    header = {
        "bemi": "0",
        "solver": "none",
        "settings": {
            **{"hidden_layers": hidden, "weight_bound": bound, "stages": list(stages), "engine": "decomposition"},
            **{"solver": "highs", "time_limit": 10.0, "node_limit": None, "gap": 0.01, "subset_size": 2},
            **{"ties": "margin", "input_scaling": "auto", "C": 10.0, "mw_loss": 0.01, "random_state": None},
            **{"monotone": None, "max_links": None, "hinges": 1, "class_weight": None},
        },
        **{"classes": [0, 1], "classes_dtype": "<i8", "features": len(rows[0]), "inputs": len(rows[0])},
        **{"feature_names": None, "transform": None},
        "input_scaling": {
            "scale": None,
            "low": min(0, *map(min, rows)),
            "high": max(0, *map(max, rows)),
            "limit": None,
        },
        "training_digest": training_digest(rows, labels),
        "networks": [{"splitting": [1] * (hidden[0] if hidden else 1), "reports": reports}],
    }
    network = [
        report | {"weights": weights, "certificate": with_kind(report["stage"], proof)}
        for report, (_, proof) in zip(reports, stages.values(), strict=True)
    ]
    claims = {"format": FORMAT, "rows": rows, "labels": labels, "networks": [network]}
    return forged(path, header, bits(weights, bound), claims)
