"""What Mančev's thesis (2015) prints: its tables, with the settings of each row.

Its figures have no numbers beside them; what the text says about them is in the scripts.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A cell of Table 3.1: regularisation (None if there is none), epochs, F-measure."""

    C: float | None
    epochs: int
    f: float


KS = (1, 2, 5, 10)

# Method -> rows for k = 1, 2, 5, 10.
TABLE_3_1 = {
    "chunking": {
        "Perceptron": (Row(None, 5, 95.821), Row(None, 5, 95.892), Row(None, 5, 95.924), Row(None, 5, 95.875)),
        "PA": (Row(1, 10, 96.093), Row(0.01, 15, 96.097), Row(0.01, 15, 96.069), Row(0.01, 15, 96.056)),
        "RPA": (Row(1, 10, 96.093), Row(0.01, 20, 96.099), Row(0.01, 20, 96.079), Row(0.01, 15, 96.057)),
        "MIRA": (Row(1, 10, 96.066), Row(0.1, 10, 96.053), Row(0.1, 5, 96.071), Row(0.01, 20, 96.061)),
        "SDM": (Row(0.1, 20, 96.057), Row(0.1, 20, 96.080), Row(0.1, 20, 96.075), Row(0.1, 20, 96.081)),
    },
    "Spanish NER": {
        "Perceptron": (Row(None, 30, 75.886), Row(None, 30, 76.019), Row(None, 30, 76.204), Row(None, 30, 76.122)),
        "PA": (Row(0.1, 30, 76.349), Row(0.1, 30, 76.436), Row(1, 30, 76.640), Row(0.1, 30, 76.549)),
        "RPA": (Row(0.1, 30, 76.349), Row(1, 30, 76.636), Row(0.1, 30, 76.741), Row(0.1, 30, 76.608)),
        "MIRA": (Row(1, 30, 76.262), Row(1, 30, 76.334), Row(1, 30, 76.312), Row(0.1, 30, 76.328)),
        "SDM": (Row(1, 30, 75.840), Row(1, 30, 76.028), Row(1, 30, 76.194), Row(1, 30, 76.145)),
    },
}

# Method -> data set -> (PP, PN, NP, NN): tokens that the single best version and the k-best version get right.
TABLE_3_2 = {
    "Perceptron": {"chunking": (199265, 1071, 1180, 10041), "Spanish NER": (251189, 688, 960, 11754)},
    "PA": {"chunking": (200281, 451, 548, 10277), "Spanish NER": (252092, 131, 234, 12134)},
    "RPA": {"chunking": (200301, 431, 537, 10288), "Spanish NER": (252088, 135, 216, 12152)},
    "MIRA": {"chunking": (200223, 477, 481, 10376), "Spanish NER": (252178, 122, 162, 12129)},
    "SDM": {"chunking": (200655, 85, 101, 10716), "Spanish NER": (251929, 237, 248, 12177)},
}

# Model -> precision, recall, F-measure.
TABLE_4_2 = {
    "SVM[BT]": (94.94, 96.10, 95.52),
    "CRF[BT]": (95.23, 96.91, 96.06),
    "SVM[BT]-CRF[BT+PT]": (95.43, 96.96, 96.19),
    "SVM[BT]-CRF[BT+PT+CT]": (95.48, 96.96, 96.21),
}


class LossRow(NamedTuple):
    """A row of Table 5.1: C of SDM or lambda of Pegasos, inner passes T (None for the hinge), epochs, score."""

    regularisation: float
    T: int | None
    epochs: int
    score: float


# (method, loss) -> row.
TABLE_5_1 = {
    "chunking": {
        ("SDM", "hinge"): LossRow(0.1, None, 100, 96.084),
        ("SDM", "ramp"): LossRow(0.1, 10, 4, 96.076),
        ("Peg", "hinge"): LossRow(2e-3, None, 30, 96.041),
        ("Peg", "ramp"): LossRow(2e-3, 5, 7, 96.072),
        ("Peg-WP", "hinge"): LossRow(1e-3, None, 100, 96.082),
        ("Peg-WP", "ramp"): LossRow(1e-3, 10, 10, 96.086),
    },
    "POS tagging": {
        ("SDM", "hinge"): LossRow(0.1, None, 200, 95.292),
        ("SDM", "ramp"): LossRow(0.1, 20, 4, 95.216),
        ("Peg", "hinge"): LossRow(1e-4, None, 200, 95.065),
        ("Peg", "ramp"): LossRow(1e-4, 20, 10, 95.079),
        ("Peg-WP", "hinge"): LossRow(2e-3, None, 200, 95.320),
        ("Peg-WP", "ramp"): LossRow(2e-3, 20, 10, 95.319),
    },
}


class MethodRow(NamedTuple):
    """A row of Table 6.1: C or lambda (None if there is neither), k (None if there is none), epochs, score."""

    regularisation: float | None
    k: int | None
    epochs: int
    score: float


TABLE_6_1 = {
    "chunking": {
        "Perceptron": MethodRow(None, None, 20, 95.798),
        "PA": MethodRow(1, None, 10, 96.093),
        "MIRA": MethodRow(0.01, 2, 30, 96.095),
        "SDM": MethodRow(0.1, None, 100, 96.084),
        "Peg": MethodRow(2e-3, None, 30, 96.041),
        "Peg-WP": MethodRow(1e-3, None, 100, 96.082),
        "PegMML": MethodRow(2e-3, 5, 30, 96.044),
        "PegMML-WP": MethodRow(1e-3, 2, 100, 96.094),
        "PegASL": MethodRow(2e-3, 2, 30, 96.047),
        "PegASL-WP": MethodRow(1e-3, 2, 50, 96.076),
        "ResPegASL": MethodRow(2e-3, 5, 30, 96.034),
        "ResPegASL-WP": MethodRow(1e-3, 2, 50, 96.078),
    },
    "POS tagging": {
        "Perceptron": MethodRow(None, None, 30, 94.829),
        "PA": MethodRow(0.01, None, 100, 95.189),
        "MIRA": MethodRow(0.01, 5, 50, 95.214),
        "SDM": MethodRow(0.1, None, 200, 95.292),
        "Peg": MethodRow(1e-4, None, 200, 95.065),
        "Peg-WP": MethodRow(2e-3, None, 200, 95.320),
        "PegMML": MethodRow(1e-4, 2, 200, 95.068),
        "PegMML-WP": MethodRow(2e-3, 2, 200, 95.302),
        "PegASL": MethodRow(1e-4, 5, 200, 95.070),
        "PegASL-WP": MethodRow(2e-3, 5, 200, 95.317),
        "ResPegASL": MethodRow(1e-4, 2, 200, 95.066),
        "ResPegASL-WP": MethodRow(2e-3, 5, 200, 95.298),
    },
}
