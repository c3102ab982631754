"""Lets a signal arrive in the midst of a call, as Ctrl-C does, and says how late it was answered.

Time is that of the processor, of all threads of this process: on a machine that others use, a call that looks for
signals as often as it should may still be answered late by the clock. What waits uses no processor, so the clock counts
as well, a tenth of it.
"""

import signal
import time

from trelliswork import ConvergenceWarning

ANSWERED = 1.0  # seconds: what the documentation promises
BUSY = 10.0  # how many times slower a busy machine may be
EARLIER = 4, 16  # times, for machines on which a call ends, or learns something, before the signal comes


def lateness(call, after):
    """Return how many seconds a call went on after a signal that came `after` seconds; None if it had ended by then."""

    def arrived(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, arrived)
    clock, processor = time.monotonic(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, after)
    try:
        call()
    except KeyboardInterrupt:
        return max(time.process_time() - processor - after, (time.monotonic() - clock) / BUSY - after)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


def assert_interruptible(call, after=0.2):
    """Fail unless the call ends soon after a signal, and by it.

    Where the machine is too fast, so that the call had ended or a first iteration was kept, it is made again and the
    signal comes earlier.
    """
    for delay in (after, *(after / times for times in EARLIER)):
        try:
            late = lateness(call, delay)
        except ConvergenceWarning:  # an error in these tests: "interrupted after 1 iterations"
            late = None
        if late is not None:
            break
    assert late is not None, f"the call ended within {delay} s: give it more to do"
    assert late < ANSWERED, f"it went on for {late:.1f} s"
