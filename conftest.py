"""Where torch is not installed, the examples in docstrings of modules that need it are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("botorch") else ["src/mergebo/kernels/*", "src/mergebo/testing/kernels.py"]
