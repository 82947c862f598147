"""The data sets: what each contains, who published it, and which files hold it.

This module holds facts and no code.  It imports quickly, so the command line can name every data set in its help.  The
modules that a description names as ``reader`` turn files into arrays.
"""

from __future__ import annotations

from bemi_lab.datasets.description import DataFile, Description

MNIST = Description(
    name="mnist",
    train=60_000,
    test=10_000,
    features=784,
    classes=10,
    source="Y. LeCun, C. Cortes, C. J. C. Burges: The MNIST database of handwritten digits (1998)",
    licence="CC BY-SA 3.0, as it is generally redistributed; the files carry no licence text",
    reader="idx",
    files=(
        DataFile(
            "train-images-idx3-ubyte.gz",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        DataFile(
            "train-labels-idx1-ubyte.gz",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        DataFile(
            "t10k-images-idx3-ubyte.gz",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        DataFile(
            "t10k-labels-idx1-ubyte.gz",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    mirrors=(
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ),
    shape=(28, 28),
)

FASHION_MNIST = Description(
    name="fashion-mnist",
    train=60_000,
    test=10_000,
    features=784,
    classes=10,
    source=(
        "H. Xiao, K. Rasul, R. Vollgraf: Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning "
        "Algorithms (2017), github.com/zalandoresearch/fashion-mnist"
    ),
    licence="MIT, copyright 2017 Zalando SE",
    reader="idx",
    files=(
        DataFile(
            "train-images-idx3-ubyte.gz",
            26_421_880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        ),
        DataFile(
            "train-labels-idx1-ubyte.gz",
            29_515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        ),
        DataFile(
            "t10k-images-idx3-ubyte.gz",
            4_422_102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        ),
        DataFile(
            "t10k-labels-idx1-ubyte.gz",
            5_148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    mirrors=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    shape=(28, 28),
    class_names=(
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ),
)

HEART_DISEASE_ROWS = {
    "processed.cleveland.data": 303,
    "processed.hungarian.data": 294,
    "processed.switzerland.data": 123,
    "processed.va.data": 200,
}
"""Rows of each clinic's file, in the order in which the data set has them."""

HEART_DISEASE = Description(
    name="heart-disease",
    train=sum(HEART_DISEASE_ROWS.values()),
    test=0,
    features=13,
    classes=2,
    source=(
        "A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano: Heart Disease (1988), UCI Machine Learning Repository, "
        "doi:10.24432/C52P4X"
    ),
    licence="CC BY 4.0; publications are asked to name the four investigators",
    reader="heart_disease",
    files=(
        DataFile(
            "processed.cleveland.data",
            18_461,
            "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
        ),
        DataFile(
            "processed.hungarian.data",
            10_263,
            "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
        ),
        DataFile(
            "processed.switzerland.data",
            4_109,
            "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314",
        ),
        DataFile(
            "processed.va.data",
            6_737,
            "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f",
        ),
    ),
    mirrors=("https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/",),
    class_names=("absence", "presence"),
)

DIGITS = Description(
    name="digits",
    train=1797,
    test=0,
    features=64,
    classes=10,
    source=(
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (1998), UCI Machine Learning Repository, "
        "doi:10.24432/C50P49; its test part"
    ),
    licence="CC BY 4.0",
    reader="bundled",
    shape=(8, 8),
)

BREAST_CANCER = Description(
    name="breast-cancer",
    train=569,
    test=0,
    features=30,
    classes=2,
    source=(
        "W. Wolberg, O. Mangasarian, W. N. Street: Breast Cancer Wisconsin (Diagnostic) (1995), UCI Machine Learning "
        "Repository, doi:10.24432/C5DW2B"
    ),
    licence="CC BY 4.0",
    reader="bundled",
)

WINE = Description(
    name="wine",
    train=178,
    test=0,
    features=13,
    classes=3,
    source="S. Aeberhard, M. Forina: Wine (1992), UCI Machine Learning Repository, doi:10.24432/C5PC7J",
    licence="CC BY 4.0",
    reader="bundled",
)

IRIS = Description(
    name="iris",
    train=150,
    test=0,
    features=4,
    classes=3,
    source=(
        "R. A. Fisher: Iris (1936), UCI Machine Learning Repository, doi:10.24432/C56C76; without the two errors there"
    ),
    licence="CC BY 4.0",
    reader="bundled",
)

SETS = {known.name: known for known in (MNIST, FASHION_MNIST, HEART_DISEASE, DIGITS, BREAST_CANCER, WINE, IRIS)}
"""All data sets by name, in the order in which lists show them."""
