"""Swap scans on a CUDA device and on one CPU core: `python benchmarks/device.py`. Not part of `make bench`."""

from __future__ import annotations

import torch
from harness import best_times, seconds

import mergebo as mb
from mergebo.acquisition import AcquisitionNeighbourhood, LogExpectedImprovement
from mergebo.gp import GP
from mergebo.hyperparameters import Hyperparameters
from mergebo.kernels import DeviceScan
from mergebo.methods import KernelModel, mallows_kernel, merge_kernel

if __name__ == "__main__":
    torch.set_num_threads(1)
    for method, kernel in (("mergebo", merge_kernel), ("bops-h", mallows_kernel)):
        for n, count in ((280, 100), (280, 1000), (1000, 100), (1000, 1000)):
            if method == "bops-h" and n == 1000:
                continue  # 499 500 neighbours of 499 500 bits each: only increments on the CPU are feasible
            problem = mb.problems.get("tsp:random", n=n)
            rows = problem.space.sample_rows(count, seed=0)
            similarity = KernelModel(kernel).similarity(problem.space)
            model = GP(similarity, rows, problem.evaluate(rows), hyperparameters=Hyperparameters((0.6,), 1.0, 1e-3))
            on_core = AcquisitionNeighbourhood(model, LogExpectedImprovement(), float(model.y.min()))
            on_device = DeviceScan(model, "cuda")
            centre = problem.space.sample_rows(seed=5)
            core, device = best_times(
                lambda on_core=on_core, centre=centre: on_core.scan(centre, "order", "swap"),
                lambda on_device=on_device, centre=centre: on_device.scan(centre, "order", "swap"),
                rounds=3 if n == 280 else 1,
            )
            print(
                f"{method}, n = {n}, N = {count}: core {seconds(core)}, cuda {seconds(device)}: {core / device:.1f} x",
                flush=True,
            )
