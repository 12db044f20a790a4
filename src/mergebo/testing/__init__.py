"""Conformance test suites for maps, kernels, problems, spaces and methods, and hypothesis strategies.

Requires the extra `mergebo[testing]`; `KernelSuite` also `mergebo[torch]`, and imports torch on first use.

```python
from mergebo.testing import MapSuite

class TestMyMap(MapSuite):
    def make(self, n): return MyMap(n)
```
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mergebo.errors import extra

with extra("testing"):
    from mergebo.testing import strategies
    from mergebo.testing.maps import MapSuite
    from mergebo.testing.methods import MethodSuite
    from mergebo.testing.problems import ProblemSuite
    from mergebo.testing.spaces import SpaceSuite

if TYPE_CHECKING:
    from mergebo.testing.kernels import KernelSuite

__all__ = ["KernelSuite", "MapSuite", "MethodSuite", "ProblemSuite", "SpaceSuite", "strategies"]
if find_spec("gpytorch") is None:  # so that `from mergebo.testing import *` still works
    __all__.remove("KernelSuite")


def __getattr__(name: str) -> Any:
    if name == "KernelSuite":
        from mergebo.testing.kernels import KernelSuite

        return KernelSuite
    raise AttributeError(f"module 'mergebo.testing' has no attribute {name!r}")
