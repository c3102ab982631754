"""Lets a signal arrive in the midst of a call, as Ctrl-C does, and says how late it was answered.

Time is that of the processor, of all threads of this process: on a machine that others use, a call that looks for
signals as often as it should may still be answered late by the clock. What waits uses no processor, so the clock counts
as well, a thirtieth of it. The signal comes from another process, which knows how far this one has got by then.
"""

import os
import resource
import signal
import subprocess
import sys
import time

from trelliswork import ConvergenceWarning

ANSWERED = 1.0  # seconds: what the documentation promises
BUSY = 30.0  # how many times slower a busy machine may be
EARLIER = 4, 16  # times, for machines on which a call ends, or learns something, before the signal comes

SENDER = """
import os, sys, time
pid, after = int(sys.argv[1]), float(sys.argv[2])
clock = (~pid << 3) | 2 if sys.platform == "linux" else time.CLOCK_MONOTONIC  # Linux's: the processor time of a process
print(flush=True)
sys.stdin.readline()
end = time.clock_gettime(clock) + after
while time.clock_gettime(clock) < end:
    time.sleep(0.002)
sent = time.clock_gettime(clock), time.monotonic()
os.kill(pid, int(sys.argv[3]))
print(*sent, flush=True)
"""


def lateness(call, after):
    """Return how many seconds a call went on after a signal that came `after` seconds; None if it had ended by then."""
    running = False

    def arrived(number, frame):
        if running:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, arrived)
    command = [sys.executable, "-I", "-S", "-c", SENDER, str(os.getpid()), str(after), str(int(signal.SIGALRM))]
    sender = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        sender.stdout.readline()
        sender.stdin.write("\n")
        sender.stdin.flush()
        running = True
        call()
        running = False
        return None
    except KeyboardInterrupt:
        running = False
        ended = time.process_time(), time.monotonic()
        processor, clock = map(float, sender.stdout.readline().split())
        return _late(ended[0] - processor, ended[1] - clock)
    finally:
        running = False
        sender.kill()
        sender.communicate()
        signal.signal(signal.SIGALRM, before)


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


def interrupt(process):
    """Send Ctrl-C to a process; return what it still writes, and how many seconds it took to end."""
    others = _of_children()
    linux = sys.platform == "linux"
    spent, clock = time.clock_gettime((~process.pid << 3) | 2) if linux else 0.0, time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return out, err, _late(_of_children() - others - spent, time.monotonic() - clock)


def _of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of those that have ended
    return used.ru_utime + used.ru_stime


def _late(processor, clock):
    return max(processor, clock / BUSY) if sys.platform == "linux" else clock
