"""minilite's performance history, for airspeed velocity. Names and parameters are keys of the history: never rename
them.

asv_runner 0.3 sets up again before every single call it times. Ours are warm calls of microseconds, which a setup
between them would make cold and a clock around each would drown: as in all versions before, one setup serves a sample
of many calls.
"""

import contextlib

with contextlib.suppress(ImportError):
    from asv_runner.benchmarks.time import TimeBenchmark

    TimeBenchmark._setup_isolates_timed_calls = False
