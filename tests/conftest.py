"""What every test shares: the path to `tests/reference`, and how many examples Hypothesis draws.

``pytest --hypothesis-profile=thorough`` (or ``HYPOTHESIS_PROFILE=thorough``) draws ten times as many, afresh each run;
``quick`` draws a handful. The default repeats the same examples on every run, so that a failure repeats too.
"""

import os
import sys
from pathlib import Path

import hypothesis

sys.path.insert(0, str(Path(__file__).parent))  # `from reference import ...` under any import mode

_patient = dict(
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    print_blob=True,
)
hypothesis.settings.register_profile("default", max_examples=250, derandomize=True, **_patient)
hypothesis.settings.register_profile("thorough", max_examples=2500, **_patient)
hypothesis.settings.register_profile("quick", max_examples=25, derandomize=True, **_patient)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
