"""Conformance suites that a new map, kernel, problem, space or method passes in three lines, and hypothesis strategies.

Needs the extra `mergebo[testing]`.

```python
from mergebo.testing import MapSuite

class TestMyMap(MapSuite):
    def make(self, n): return MyMap(n)
```
"""

from mergebo.errors import extra

with extra("testing"):
    from mergebo.testing import strategies
    from mergebo.testing.kernels import KernelSuite
    from mergebo.testing.maps import MapSuite
    from mergebo.testing.methods import MethodSuite
    from mergebo.testing.problems import ProblemSuite
    from mergebo.testing.spaces import SpaceSuite

__all__ = ["KernelSuite", "MapSuite", "MethodSuite", "ProblemSuite", "SpaceSuite", "strategies"]
