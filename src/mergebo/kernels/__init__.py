"""GPyTorch kernels whose inputs are permutations. They need the extra `mergebo[torch]`."""

from mergebo.errors import extra

with extra("torch"):
    from mergebo.kernels.average import RelabelledAverage
    from mergebo.kernels.base import PermutationKernel
    from mergebo.kernels.comparisons import (
        ComparisonKernel,
        KendallKernel,
        MallowsKernel,
        MergeKernel,
        NetworkKernel,
        RandomComparisonsKernel,
    )
    from mergebo.kernels.positions import (
        AdjacencyKernel,
        ARDPositionKernel,
        FootruleKernel,
        PositionKernel,
        SpearmanRhoKernel,
    )

__all__ = [
    "ARDPositionKernel",
    "AdjacencyKernel",
    "ComparisonKernel",
    "FootruleKernel",
    "KendallKernel",
    "MallowsKernel",
    "MergeKernel",
    "NetworkKernel",
    "PermutationKernel",
    "PositionKernel",
    "RandomComparisonsKernel",
    "RelabelledAverage",
    "SpearmanRhoKernel",
]
