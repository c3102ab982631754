"""Lets a signal arrive in the midst of a call, as Ctrl-C does, and says how late it was answered."""

import signal
import time

from trelliswork import ConvergenceWarning

ANSWERED = 1.0  # seconds: what the documentation promises
EARLIER = 4, 16  # times, for machines on which a call ends, or learns something, before the signal comes


def lateness(call, after):
    """Return how many seconds a call went on after a signal that came `after` seconds; None if it had ended by then."""

    def arrived(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, arrived)
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - started - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
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
