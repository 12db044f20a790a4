"""Where torch is not installed, modules that need it are left out when examples in docstrings are collected."""

from importlib.util import find_spec

NEED_TORCH = ["src/mergebo/kernels/*", "src/mergebo/testing/kernels.py", "tests/kernel_suite.py"]
collect_ignore_glob = [] if find_spec("botorch") else NEED_TORCH
