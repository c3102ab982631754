"""trelliswork: structured prediction with exact inference.

Names are loaded when first used, so ``import trelliswork`` stays light.
"""

from trelliswork.lazy import attach

__version__ = "0.1.0"

# Module -> the public names that it defines. The only list of them; `make stubs` writes __init__.pyi from it.
_HOMES = {
    "": ("corpora", "evaluation", "models", "plots"),
    "errors": (
        "ConvergenceWarning",
        "InvalidInput",
        "InvalidModel",
        "TrellisworkError",
        "UncalibratedScores",
        "UnknownAttributes",
        "UnknownParameter",
        "Unsatisfiable",
    ),
    "estimators.committee.committee": ("Committee",),
    "estimators.constituency_parser": ("ConstituencyParser",),
    "estimators.dependency_parser": ("DependencyParser",),
    "estimators.grammar": ("Grammar",),
    "estimators.hmm.hmm": ("HMM",),
    "estimators.loading": ("load",),
    "estimators.multiclass.classifier": ("MulticlassClassifier",),
    "estimators.multiclass.perceptron": ("MulticlassPerceptron",),
    "estimators.oracles": ("oracle",),
    "estimators.segment_labeler": ("SegmentLabeler",),
    "estimators.sequence_labeler": ("SequenceLabeler",),
    "estimators.structured": ("StructuredPredictor",),
    "features.templates": ("Templates",),
    "labels.scheme_constraints": ("SchemeConstraints", "scheme_constraints"),
    "learners.batch": ("CuttingPlane", "FrankWolfe"),
    "learners.confidence": ("AROW",),
    "learners.crf": ("CRF",),
    "learners.dual": ("DualCoordinate", "LaRank", "MIRA", "SDM"),
    "learners.exponentiated_gradient": ("ExponentiatedGradient",),
    "learners.memm": ("MEMM",),
    "learners.online": ("PassiveAggressive", "Perceptron"),
    "learners.primal": ("Pegasos", "Subgradient"),
    "models.confidence": ("Confidence", "confidence"),
    "structures": ("semirings",),
    "structures.automaton": ("Automaton", "AutomatonChain"),
    "structures.batch": ("ChainBatch",),
    "structures.beam": ("beam_search",),
    "structures.bracketing": ("Bracketing",),
    "structures.chain": ("Chain",),
    "structures.constituents": ("Constituent",),
    "structures.custom.structure": ("Structure",),
    "structures.dependency": ("DependencyTree",),
    "structures.expectation": ("ExpectationPass",),
    "structures.grammar": ("Parses",),
    "structures.ngram": ("NGramChain",),
    "structures.parts": ("Batch",),
    "structures.program": ("Program",),
    "structures.results": (
        "Brackets",
        "Expectations",
        "Forward",
        "ForwardBackward",
        "Labeling",
        "Relaxation",
        "Segmentation",
        "Solution",
        "SpanningEdges",
        "Tree",
    ),
    "structures.segments": ("SegmentChain",),
    "structures.semirings": ("Semiring", "forward", "forward_backward"),
    "structures.spanning": ("SpanningTree",),
    "training": ("active",),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
