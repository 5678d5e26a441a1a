"""Starts the local AWS engine in the foreground; bin/local/engine.ts runs it.

Three things the engine has no setting for are done here:

* After each Lambda call it waits 50 ms for log output that a quiet function never writes. Lowering
  that wait takes a warm request from about 60 ms to 10 ms; a later line still reaches the next drain.
* It starts a process for every concurrent call: a hundred parallel requests would be some fifty Node
  processes and 3 GB. Here further calls wait for one of a few workers of their function.
* It ends with the command that started it, even when that command is killed and cannot say goodbye:
  the command holds the other end of standard input, and its closing ends this whole process group.
"""

import collections
import os
import shutil
import signal
import sys
import threading

from ministack.app import main
from ministack.core.lambda_runtime import Worker
from ministack.services import lambda_svc

LOG_WAIT_SECONDS = 0.002
LOG_IDLE_SECONDS = 0.001
LOG_CAP_SECONDS = 0.050
WORKERS_PER_FUNCTION = 8


def lower_log_waits() -> None:
    Worker._drain_stderr_bounded.__defaults__ = (LOG_WAIT_SECONDS, LOG_IDLE_SECONDS, LOG_CAP_SECONDS)


def limit_workers() -> None:
    # Waiting is safe: every call has a thread of its own, and no function of this service invokes itself.
    slots = collections.defaultdict(lambda: threading.BoundedSemaphore(WORKERS_PER_FUNCTION))
    making_slots = threading.Lock()
    dispatch = lambda_svc._execute_function_dispatch

    def dispatch_in_turn(func, config, *rest):
        with making_slots:
            slot = slots[config.get("FunctionArn", "")]
        with slot:
            return dispatch(func, config, *rest)

    lambda_svc._execute_function_dispatch = dispatch_in_turn


def end_with_parent() -> None:
    # os.read and not sys.stdin: a thread inside a buffered reader holds a lock that blocks a normal exit.
    while os.read(0, 1024):
        pass
    shutil.rmtree(os.environ["LOCAL_ENGINE_SCRATCH"], ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


lower_log_waits()
limit_workers()
threading.Thread(target=end_with_parent, daemon=True).start()
sys.argv = sys.argv[:1]
main()
