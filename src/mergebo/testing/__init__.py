"""Conformance suites that a new map or kernel passes in three lines, and hypothesis strategies. Needs `mergebo[testing]`.

```python
from mergebo.testing import MapSuite

class TestMyMap(MapSuite):
    def make(self, n): return MyMap(n)
```
"""

from mergebo.testing import strategies
from mergebo.testing.kernels import KernelSuite
from mergebo.testing.maps import MapSuite

__all__ = ["KernelSuite", "MapSuite", "strategies"]
