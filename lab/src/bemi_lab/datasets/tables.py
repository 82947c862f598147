"""Real tables with text and missing cells, for the experiments on tables.

They are files ``tables/NAME.csv`` in the user's data folder or the cache: comma-separated, a header, the label in the
last column.  An empty cell is a missing value, and text is a category.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bemi_lab.datasets import storage
from bemi_lab.datasets.catalogue import load as load_set
from bemi_lab.datasets.description import DataFile, DatasetError, Description

FOLDER = "tables"
LABEL = "label"


@dataclass(frozen=True)
class Table:
    """What is known about a table: name, contents and origin, sizes, and its file."""

    name: str
    about: str
    rows: int
    features: int
    classes: int
    empty_cells: int
    size: int
    sha256: str

    @property
    def file(self) -> DataFile:
        return DataFile(f"{self.name}.csv", self.size, self.sha256)


EVERY = (
    Table(
        "breast-cancer",
        "Wisconsin diagnostic breast cancer, as in scikit-learn",
        rows=569,
        features=30,
        classes=2,
        empty_cells=0,
        size=121_384,
        sha256="ad4e6b6fa616a36b1b7670e626d9c4438929a9cc2162fe6f2ead95d9fbee3e3a",
    ),
    Table(
        "heart920",
        "Heart Disease, four hospitals (UCI), cholesterol and pressure of 0 read as missing",
        rows=920,
        features=13,
        classes=2,
        empty_cells=1932,
        size=46_814,
        sha256="d2e22403f4f8c6de020869b6be9ec0c7f56d46f0f5e738108c64f1c1399c86e1",
    ),
    Table(
        "pima-na",
        "Pima Indians diabetes with missing cells (R package mlbench)",
        rows=768,
        features=8,
        classes=2,
        empty_cells=652,
        size=32_055,
        sha256="93525c7a4732c39be133554f43688b5f8b03fd2c041f4b3f92701f15162c2468",
    ),
    Table(
        "saheart",
        "South African heart disease (KEEL)",
        rows=462,
        features=9,
        classes=2,
        empty_cells=0,
        size=21_122,
        sha256="ee1486039a531fd80bc7f2d73e29652c9c3a5cc1796b955cd3db7f5a5beacdf0",
    ),
    Table(
        "mammographic",
        "mammographic masses (KEEL)",
        rows=830,
        features=5,
        classes=2,
        empty_cells=0,
        size=10_812,
        sha256="b646068325f4be0a68633c038998d9bc0d5dc8ce967557659d615c08d927e692",
    ),
    Table(
        "ionosphere",
        "radar returns (R package mlbench)",
        rows=351,
        features=33,
        classes=2,
        empty_cells=0,
        size=82_646,
        sha256="ba02f4b40e64771f2b6077ceeaf83349dcb18cf44f02906e82cbf8b6f5ff9677",
    ),
    Table(
        "votes84",
        "House votes 1984 (R package mlbench)",
        rows=435,
        features=16,
        classes=2,
        empty_cells=392,
        size=17_840,
        sha256="bfe6f2aa947b6c641b2e793e068df3bb3ea3887b0a13f78b1d56adf8bf141141",
    ),
    Table(
        "banana",
        "artificial, two moons (KEEL)",
        rows=5000,
        features=2,
        classes=2,
        empty_cells=0,
        size=83_632,
        sha256="8f060b17a07177b31ada90efbf4f4333cceb704c17da382cd41dfe2b6ec8b6dd",
    ),
    Table(
        "tictactoe",
        "tic-tac-toe endgame (KEEL)",
        rows=958,
        features=9,
        classes=2,
        empty_cells=0,
        size=25_899,
        sha256="7bd6d357a422d8489afddf98cf6ba1952d96a818c671b6874d6bb3ba3414d12b",
    ),
    Table(
        "penguin-sex",
        "Palmer penguins, sex as label",
        rows=333,
        features=6,
        classes=2,
        empty_cells=0,
        size=14_618,
        sha256="5af70cbef5426875c284deae06488169ff1fc639d7d654249add19127d0e3967",
    ),
    Table(
        "iris",
        "as in scikit-learn",
        rows=150,
        features=4,
        classes=3,
        empty_cells=0,
        size=2776,
        sha256="01245346a92d3d33edad4a4691162c6e5e27261e1e32ef67337db5f9cdd5c944",
    ),
    Table(
        "wine",
        "as in scikit-learn",
        rows=178,
        features=13,
        classes=3,
        empty_cells=0,
        size=12_260,
        sha256="1ad203a93aba6c47deaa4520cae19651d1b4547750f692e5dd354cc659bc6c12",
    ),
    Table(
        "glass",
        "glass identification (R package mlbench)",
        rows=214,
        features=9,
        classes=6,
        empty_cells=0,
        size=10_649,
        sha256="cc8eefe4a6c92a1dcd4a846984bd2f29038bd26109eb882d1ace918ec374bdb4",
    ),
    Table(
        "contraceptive",
        "contraceptive method choice (KEEL)",
        rows=1473,
        features=9,
        classes=3,
        empty_cells=0,
        size=30_995,
        sha256="ad5314cf32c72eb46e9aae963147110951b09c047ac951c15aac8b6d0efd81b3",
    ),
    Table(
        "spambase",
        "spam e-mail (KEEL)",
        rows=4597,
        features=57,
        classes=2,
        empty_cells=0,
        size=1_124_044,
        sha256="d80b91eba5c0e5311badc02f2d4941fba71401848b1c743f977ff15e55d509c3",
    ),
)
TABLES = {table.name: table for table in EVERY}
"""All tables by name."""

PART_OF_SCIKIT_LEARN = ("breast-cancer", "iris", "wine")
"""Tables that can be loaded without their files; the rows are the same."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A loaded table: its features as columns of numbers or text with missing cells, and its labels."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]


def is_here(name: str) -> bool:
    """Whether a table can be loaded."""
    table = _described(name)
    return name in PART_OF_SCIKIT_LEARN or storage.place(_collection(), table.file) is not None


def load_table(name: str) -> Rows:
    """Load a table by name; raises DatasetError, which says where to put its file, if it is not here."""
    table = _described(name)
    found = storage.find(_collection(), table.file)
    if found is None and name in PART_OF_SCIKIT_LEARN:
        return _from_scikit_learn(name)
    if found is None:
        places = " or ".join(map(str, storage.folders(FOLDER).values()))
        raise DatasetError(
            f"{table.file.name} is not here and cannot be downloaded; put it into {places} "
            f"({storage.FOLDER_VARIABLE} names the folder of {FOLDER}/)"
        )
    # Only an empty cell is missing; pandas would also read a category named "None" or "NA" as missing.
    content = pd.read_csv(io.BytesIO(found.content), keep_default_na=False, na_values=[""])
    return Rows(name, content.drop(columns=LABEL), content[LABEL].to_numpy())


def _from_scikit_learn(name: str) -> Rows:
    known = load_set(name)
    return Rows(name, pd.DataFrame(known.train_X, columns=list(known.feature_names or ())), np.asarray(known.train_y))


def _collection() -> Description:
    """All tables as one data set whose files nobody offers for download."""
    return Description(
        name=FOLDER,
        train=sum(table.rows for table in EVERY),
        test=0,
        features=0,
        classes=0,
        source="UCI and KEEL repositories, R and Python packages; each table says which",
        licence="as their publishers say",
        reader="tables",
        files=tuple(table.file for table in EVERY),
    )


def _described(name: str) -> Table:
    if name not in TABLES:
        raise DatasetError(f"unknown table {name!r}; known: {', '.join(TABLES)}")
    return TABLES[name]
