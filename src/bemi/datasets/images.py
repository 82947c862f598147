"""MNIST and Fashion-MNIST: what their publishers distribute, and where."""

from __future__ import annotations

from bemi.datasets import idx
from bemi.datasets.description import DataFile, Description

MNIST = Description(
    name="mnist",
    train=60_000,
    test=10_000,
    features=784,
    classes=10,
    source="Y. LeCun, C. Cortes, C. J. C. Burges: The MNIST database of handwritten digits (1998)",
    licence="CC BY-SA 3.0, as it is generally redistributed; the files carry no licence text",
    build=idx.build,
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
    build=idx.build,
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
