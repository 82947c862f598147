"""The program in docs/signals-device.md compiles as it stands, and prints what Python finds."""

import re
import subprocess
from pathlib import Path

import numpy as np
from compiled_c import SANITIZED, STRICT, needs_gcc
from exported_models import model
from test_windows_in_c import recording, windows_of

from bemi import Smoothing
from bemi.export.c import write

PAGE = Path(__file__).parents[3] / "docs" / "signals-device.md"


@needs_gcc
def test_the_example(tmp_path):
    (program,) = re.findall(r"^```c\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    hop = int(re.search(r"#define HOP (\d+)", program)[1])
    classifier = model("counts of a signal")
    write(classifier, tmp_path, smoothing=Smoothing(5, 3))
    (tmp_path / "main.c").write_text(program)
    command = ["gcc", *STRICT, "-Wconversion", *SANITIZED, "bemi_model.c", "main.c", "-o", "activity"]
    subprocess.run(command, cwd=tmp_path, check=True)
    readings = recording(classifier, 4000, seed=11)
    text = "\n".join(" ".join(map(str, sample)) for sample in readings.tolist())
    printed = subprocess.run([tmp_path / "activity"], input=text, capture_output=True, text=True, check=True).stdout
    time = classifier.transform_.layout_.time
    # A prediction after every hop, once there are enough samples.
    ends = np.arange(hop, len(readings) + 1, hop)
    labels = classifier.predict(windows_of(readings, time)[ends[ends >= time] - time])
    stable = [label for label in Smoothing(5, 3)(labels) if label is not None]
    changes = [label for place, label in enumerate(stable) if place == 0 or stable[place - 1] != label]
    assert len(changes) > 5
    assert printed.split() == list(map(str, changes))
    assert len(changes) < np.count_nonzero(np.diff(labels))
