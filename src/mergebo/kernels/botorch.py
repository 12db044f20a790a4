"""Export of a model to BoTorch."""

from __future__ import annotations

import numpy as np
import torch

from mergebo.errors import extra
from mergebo.gp import GP
from mergebo.hyperparameters import MIN_NOISE
from mergebo.kernels.similarity import product_kernel

with extra("torch"):
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import AdditiveKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.priors import LogNormalPrior

__all__: list[str] = []


def to_botorch(model: GP) -> SingleTaskGP:
    """The same model as a BoTorch `SingleTaskGP`; see `GP.to_botorch`."""
    lengthscale_prior, *_, scale_prior, noise_prior = (
        LogNormalPrior(*each) for each in model.priors.log_normal(sum(model.terms), len(model.terms))
    )
    scaled = [ScaleKernel(product_kernel(term), outputscale_prior=scale_prior) for term in model.similarity.terms]
    targets = torch.from_numpy(model.y).unsqueeze(-1)
    learns_noise = model.noise is None and model.fixed_noise is None
    if learns_noise:
        constraint = GreaterThan(MIN_NOISE)
        noise = {"likelihood": GaussianLikelihood(noise_prior, noise_constraint=constraint)}
    else:
        noise = {"train_Yvar": torch.from_numpy(model.noise_variances).unsqueeze(-1)}
    exported = SingleTaskGP(
        torch.from_numpy(np.asarray(model.rows, np.float64)),
        targets,
        covar_module=scaled[0] if len(scaled) == 1 else AdditiveKernel(*scaled),
        outcome_transform=None,
        **noise,
    ).double()
    lengthscales = iter(model.hyperparameters.lengthscales)
    for kernel, outputscale in zip(scaled, model.hyperparameters.outputscales, strict=True):
        kernel.outputscale = outputscale
        for factor in getattr(kernel.base_kernel, "kernels", [kernel.base_kernel]):
            factor.register_prior("lengthscale_prior", lengthscale_prior, "lengthscale")
            factor.lengthscale = torch.tensor([next(lengthscales) for _ in range(factor.lengthscale.numel())])
    if learns_noise:
        exported.likelihood.noise = max(model.hyperparameters.noise, MIN_NOISE * (1 + 1e-6))
    exported.mean_module.constant.data.fill_(model.constant_mean)
    return exported
