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
    from mergebo.kernels.device import DeviceScan
    from mergebo.kernels.positions import (
        AdjacencyKernel,
        ARDPositionKernel,
        FootruleKernel,
        PositionKernel,
        SpearmanRhoKernel,
    )
    from mergebo.kernels.scalars import BinaryKernel, NumericKernel
    from mergebo.kernels.similarity import KernelSimilarity, kernel_of, product_kernel, similarity_of

__all__ = [
    "ARDPositionKernel",
    "AdjacencyKernel",
    "BinaryKernel",
    "ComparisonKernel",
    "DeviceScan",
    "FootruleKernel",
    "KendallKernel",
    "KernelSimilarity",
    "MallowsKernel",
    "MergeKernel",
    "NetworkKernel",
    "NumericKernel",
    "PermutationKernel",
    "PositionKernel",
    "RandomComparisonsKernel",
    "RelabelledAverage",
    "SpearmanRhoKernel",
    "kernel_of",
    "product_kernel",
    "similarity_of",
]
