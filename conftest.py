"""What has to be known before any test is collected."""

import os
from importlib.util import find_spec
from pathlib import Path

# Linear algebra differs in its last digits between processors, and with it now and then which of two nearly equal points is
# proposed. These kernels of OpenBLAS run on nearly all processors, so that golden traces are the same on all of them.
CPU = Path("/proc/cpuinfo")
if CPU.exists() and " avx2 " in CPU.read_text():
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

# Where torch is not installed, modules that need it are left out when examples in docstrings are collected.
NEED_TORCH = ["src/mergebo/kernels/*", "src/mergebo/testing/kernels.py", "tests/kernel_suite.py"]
collect_ignore_glob = [] if find_spec("botorch") else NEED_TORCH
