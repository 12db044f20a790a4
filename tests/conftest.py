from __future__ import annotations

import os
import signal

from hypothesis import settings

# Compiling the first example takes seconds and machines are shared: a deadline would measure those, not the code.
settings.register_profile("default", deadline=None, max_examples=25, derandomize="CI" in os.environ)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell that starts tests in the background has them ignore Ctrl-C, with all processes that they start; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
