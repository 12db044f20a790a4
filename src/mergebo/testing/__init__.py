"""Conformance suites that a new map, kernel or problem passes in three lines, and hypothesis strategies.

Needs the extra `mergebo[testing]`.

```python
from mergebo.testing import MapSuite

class TestMyMap(MapSuite):
    def make(self, n): return MyMap(n)
```
"""

from mergebo.testing import strategies
from mergebo.testing.kernels import KernelSuite
from mergebo.testing.maps import MapSuite
from mergebo.testing.problems import ProblemSuite

__all__ = ["KernelSuite", "MapSuite", "ProblemSuite", "strategies"]
