"""Conformance tests for kernels on permutations."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st

from mergebo.errors import MergeboError, extra
from mergebo.permutations import sample
from mergebo.testing.properties import property_test
from mergebo.testing.strategies import batches, broken_permutations, sizes

with extra("torch"):
    import torch
    from gpytorch.kernels import Kernel

__all__ = ["KernelSuite"]

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def _orders(n: int, *size: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.from_numpy(sample(n, size, seed=seed)).to(dtype)


class KernelSuite:
    """Inherit from this class and implement `make`, which creates the kernel to test."""

    largest = 40
    """Maximum number of items in tests."""

    def make(self, n: int) -> Kernel:
        """The kernel to test, for n items."""
        raise NotImplementedError

    def _matrix(self, kernel: Kernel, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            dense: torch.Tensor = kernel(a, b).to_dense()
        return dense

    @pytest.mark.parametrize("n", [5, 30, 280])
    def test_positive_semidefinite(self, n: int) -> None:
        """All eigenvalues on 200 random permutations are non-negative up to rounding."""
        orders = _orders(n, 200)
        matrix = self._matrix(self.make(n).double(), orders, orders)
        assert torch.linalg.eigvalsh(matrix).min() > -1e-9 * 200

    @property_test
    def test_symmetric_with_unit_diagonal(self, data: st.DataObject) -> None:
        """k(a, b) == k(b, a), k(a, a) == 1, and no permutation is more similar to a than a itself."""
        n = data.draw(sizes(1, self.largest))
        a, b = (torch.from_numpy(data.draw(batches(n, low=1))).double() for _ in range(2))
        kernel = self.make(n).double()
        matrix = self._matrix(kernel, a, b)
        torch.testing.assert_close(matrix, self._matrix(kernel, b, a).mT)
        torch.testing.assert_close(self._matrix(kernel, a, a).diagonal(), torch.ones(len(a), dtype=torch.float64))
        assert matrix.max() <= 1 + 1e-12
        assert torch.isfinite(matrix).all()

    @property_test
    def test_diagonal_is_that_of_the_matrix(self, data: st.DataObject) -> None:
        """`diag=True` gives k(a_i, b_i), batched or not."""
        n = data.draw(sizes(1, self.largest))
        a, b = _orders(n, 3, 4, seed=1), _orders(n, 3, 4, seed=2)
        kernel = self.make(n).double()
        with torch.no_grad():
            for x, y in ((a, b), (a[0], b[0])):
                torch.testing.assert_close(kernel(x, y, diag=True), self._matrix(kernel, x, y).diagonal(dim1=-1, dim2=-2))

    @property_test
    def test_batch_is_a_loop(self, data: st.DataObject) -> None:
        """Leading dimensions are batches and broadcast."""
        n = data.draw(sizes(1, self.largest))
        kernel = self.make(n).double()
        a, b = _orders(n, 2, 3, 4, seed=1), _orders(n, 2, 3, 5, seed=2)
        matrix = self._matrix(kernel, a, b)
        assert matrix.shape == (2, 3, 4, 5)
        for i, j in np.ndindex(2, 3):
            torch.testing.assert_close(matrix[i, j], self._matrix(kernel, a[i, j], b[i, j]))
        shared = self._matrix(kernel, a, b[0, 0].expand(2, 3, 5, n))
        torch.testing.assert_close(shared[1, 2], self._matrix(kernel, a[1, 2], b[0, 0]))
        shuffled = torch.tensor([2, 0, 3, 1])
        torch.testing.assert_close(self._matrix(kernel, a[0, 0][shuffled], b[0, 0]), matrix[0, 0][shuffled])

    def test_batch_of_kernels(self) -> None:
        """Parameters of shape `batch x 1 x 1` apply batch by batch, to matrices and diagonals."""
        kernel = self.make(6).double()
        names = [name for name, _ in kernel.named_parameters()]
        if names == ["raw_lengthscale"]:
            lengthscales = torch.tensor([0.3, 1.0, 3.0]).double()
            kernel.raw_lengthscale = torch.nn.Parameter(
                kernel.raw_lengthscale_constraint.inverse_transform(lengthscales.view(3, 1, 1))
            )
            kernel.batch_shape = torch.Size([3])
            a, b = _orders(6, 3, 4, seed=1), _orders(6, 3, 4, seed=2)
            batched = self._matrix(kernel, a, b)
            for k, lengthscale in enumerate(lengthscales):
                single = self.make(6).double()
                single.lengthscale = lengthscale
                torch.testing.assert_close(batched[k], self._matrix(single, a[k], b[k]))
            with torch.no_grad():
                torch.testing.assert_close(kernel(a, b, diag=True), batched.diagonal(dim1=-1, dim2=-2))

    @pytest.mark.parametrize("n", [1, 2, 3, 15, 30])
    @pytest.mark.parametrize("device", DEVICES)
    def test_same_on_every_device_and_in_single_precision(self, n: int, device: str) -> None:
        """float32 results agree with float64 on the CPU, on every available device, and keep their type and device."""
        a, b = _orders(n, 2, 5, seed=1), _orders(n, 2, 7, seed=2)
        expected = self._matrix(self.make(n).double(), a, b)
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
            kernel = self.make(n).to(device=device, dtype=dtype)
            matrix = self._matrix(kernel, a.to(device, dtype), b.to(device, dtype))
            assert matrix.dtype == dtype
            assert matrix.device.type == device
            torch.testing.assert_close(matrix.double().cpu(), expected, rtol=tolerance, atol=tolerance)
            with torch.no_grad():
                diagonal = kernel(a.to(device, dtype), a.to(device, dtype), diag=True)
            torch.testing.assert_close(diagonal, torch.ones_like(diagonal))

    @pytest.mark.parametrize("device", DEVICES)
    @property_test
    def test_bad_input_is_refused(self, device: str, data: st.DataObject) -> None:
        """Invalid input raises a `MergeboError` instead of giving a wrong similarity."""
        n = data.draw(sizes(2, self.largest))
        broken = data.draw(broken_permutations(n).filter(lambda values: not isinstance(values[0], list | bool)))
        try:
            tensor = torch.tensor(broken, dtype=torch.float64, device=device)
        except (TypeError, ValueError):  # text, None: torch itself raises an error
            return
        kernel = self.make(n).to(device=device, dtype=torch.float64)
        good = _orders(n, 2).to(device)
        with pytest.raises(MergeboError):
            kernel(tensor[None], tensor[None]).to_dense()
        if tensor.shape[-1] == n:
            with pytest.raises(MergeboError):
                kernel(good, tensor[None]).to_dense()

    def test_input_is_left_alone(self) -> None:
        """Evaluation does not change its inputs."""
        a = _orders(9, 4)
        before = a.clone()
        self._matrix(self.make(9).double(), a, a)
        torch.testing.assert_close(a, before)

    def test_copies_are_equal(self) -> None:
        """A kernel survives pickling, copying and a round trip through its state."""
        kernel = self.make(8).double()
        a, b = _orders(8, 4, seed=1), _orders(8, 5, seed=2)
        expected = self._matrix(kernel, a, b)
        reloaded = self.make(8).double()
        reloaded.load_state_dict(kernel.state_dict())
        for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), reloaded):
            torch.testing.assert_close(self._matrix(other, a, b), expected)
