"""Permutations in tensors: validation, views, and the bits of comparison maps as torch operations.

The compiled code of `mergebo.sorting` runs on the CPU. On other devices the maps are computed by batched sorts, gathers and
comparisons on the device, which are tested to be equal bit for bit.
"""

from __future__ import annotations

from functools import lru_cache, singledispatch

import numpy as np
import torch
from torch import Tensor

from mergebo.permutations import View, in_view, validate
from mergebo.sorting import (
    ComparisonMap,
    Concatenation,
    EnumerationMap,
    MergeMap,
    NetworkMap,
    RandomComparisons,
    Relabelled,
)

__all__: list[str] = []


def read_tensor(x: Tensor, view: View, n: int) -> Tensor:
    """Valid orders `... x n`, of any numeric type, as int64 in the view of a kernel; errors as in `permutations`."""
    if x.device.type == "cpu":
        return torch.from_numpy(in_view(x.detach().double().numpy(), view, n=n))
    orders = x.detach().long()
    if x.shape[-1] != n or not bool(
        ((orders == x) & (orders.sort(dim=-1).values == torch.arange(n, device=x.device))).all()
    ):
        validate(x.detach().double().cpu().numpy(), n=n)  # raises the error
    return orders if view == "order" else orders.argsort(dim=-1)


def bit_distance(map: ComparisonMap, a: Tensor, b: Tensor) -> Tensor:
    """Hamming distances of codes: valid int64 `... x A x n` and `... x B x n` -> `... x A x B`; batches broadcast."""
    if a.device.type == "cpu":
        return torch.from_numpy(_distance_on_cpu(map, a.numpy(), b.numpy()))
    return bit_distance_by_torch(map, a, b)


def bit_distance_by_torch(map: ComparisonMap, a: Tensor, b: Tensor) -> Tensor:
    """`bit_distance` on any device, by one matrix product of the bits as floats."""
    bits_a, bits_b = (tensor_bits(map, x).float() for x in (a, b))  # float32 counts exactly up to 2^24
    shared = bits_a @ bits_b.transpose(-1, -2)
    return bits_a.sum(-1).unsqueeze(-1) + bits_b.sum(-1).unsqueeze(-2) - 2 * shared


def _distance_on_cpu(map: ComparisonMap, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows_a, rows_b, n = a.shape[-2], b.shape[-2], map.n
    batches = b.reshape(-1, rows_b, n)
    if len(batches) == 1 or (len(batches) > 1 and (batches == batches[:1]).all()):
        # A t-batch of candidates against one set of training points, which GPyTorch repeats for each candidate.
        distances = map._distance(a.reshape(1, -1, n), batches[:1]).reshape(*a.shape[:-1], rows_b)
        return np.broadcast_to(distances, (*shape, rows_a, rows_b)).copy()
    expanded_a = np.broadcast_to(a, (*shape, rows_a, n)).reshape(-1, rows_a, n)
    expanded_b = np.broadcast_to(b, (*shape, rows_b, n)).reshape(-1, rows_b, n)
    return map._distance(expanded_a, expanded_b).reshape(*shape, rows_a, rows_b)


@singledispatch
def tensor_bits(map: ComparisonMap, x: Tensor) -> Tensor:
    """The code of valid int64 permutations `... x n` as a boolean tensor on their device."""
    # A map without a torch implementation: encode on the host.
    return torch.from_numpy(map.encode(x.cpu().numpy())).to(x.device).bool()


@tensor_bits.register
def _(map: EnumerationMap, x: Tensor) -> Tensor:
    i, j = torch.triu_indices(map.n, map.n, 1, device=x.device)
    return x[..., i] > x[..., j]


@tensor_bits.register
def _(map: RandomComparisons, x: Tensor) -> Tensor:
    i, j = torch.from_numpy(map.pairs.astype(np.int64).T).to(x.device)
    return x[..., i] > x[..., j]


@tensor_bits.register
def _(map: Concatenation, x: Tensor) -> Tensor:
    return torch.cat([tensor_bits(part, x) for part in map.parts], dim=-1)


@tensor_bits.register
def _(map: Relabelled, x: Tensor) -> Tensor:
    return tensor_bits(map.map, torch.tensor(map.items, device=x.device)[x[..., list(map.slots)]])


@tensor_bits.register
def _(map: NetworkMap, x: Tensor) -> Tensor:
    wires = x.clone()
    bits = torch.empty(*x.shape[:-1], map.length, dtype=torch.bool, device=x.device)
    for layer in _layers(map):
        index = torch.from_numpy(layer).to(x.device)
        i, j = torch.from_numpy(map.comparators[layer].astype(np.int64).T).to(x.device)
        first, second = wires[..., i], wires[..., j]
        bits[..., index] = first > second
        wires[..., i] = torch.minimum(first, second)
        wires[..., j] = torch.maximum(first, second)
    return bits


@lru_cache(maxsize=64)
def _layers(map: NetworkMap) -> list[np.ndarray]:
    """Comparators in layers of disjoint wires, each in the earliest layer possible."""
    free_from = [0] * map.n
    layer_of = []
    for i, j in map.comparators.tolist():
        layer = max(free_from[i], free_from[j])
        free_from[i] = free_from[j] = layer + 1
        layer_of.append(layer)
    return [np.flatnonzero(np.array(layer_of) == layer) for layer in range(max(free_from))]


@tensor_bits.register
def _(map: MergeMap, x: Tensor) -> Tensor:
    low, middle, high, index = (torch.from_numpy(t).to(x.device) for t in _levels(map))
    levels = []
    for at_low, at_middle, at_high in zip(low, middle, high, strict=True):
        # Sort slots by node and entry; a bit is whether the slot is in the right half of its node.
        slots = (at_low * map.n + x).argsort(dim=-1)
        bits = slots >= at_middle
        if map.padding == "comparison":
            # Flip the redundant bits: those from which on all bits of the node are equal.
            differs = bits != bits[..., at_high - 1]
            later = torch.nn.functional.pad(differs.flip(-1).cumsum(-1).flip(-1), (0, 1))
            bits = bits ^ (later[..., :-1] == later[..., at_high])
        levels.append(bits)
    if not levels:
        return torch.empty(*x.shape[:-1], 0, dtype=torch.bool, device=x.device)
    return torch.cat(levels, dim=-1)[..., index]


@lru_cache(maxsize=64)
def _levels(map: MergeMap) -> tuple[np.ndarray, ...]:
    """For each depth and slot the bounds of its node (a single slot is its own node), and the location of each bit."""
    depths = {(0, map.n): 0}
    for low, middle, high, *_ in map.nodes.tolist():  # parents first
        depths[low, middle] = depths[middle, high] = depths[low, high] + 1
    count = max((depths[low, high] + 1 for low, _, high, *_ in map.nodes.tolist()), default=0)
    bounds = np.empty((3, count, map.n), np.int64)
    bounds[:] = np.arange(map.n)
    bounds[1:] += 1
    index = np.empty(map.length, np.int64)
    for low, middle, high, offset, width, _ in map.nodes.tolist():
        depth = depths[low, high]
        bounds[:, depth, low:high] = np.array([[low], [middle], [high]])
        index[offset : offset + width] = depth * map.n + np.arange(low, low + width)
    return (*bounds, index)
