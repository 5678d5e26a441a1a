"""Starts the local AWS engine in the foreground; bin/local/engine.ts runs it.

Changes four behaviors for which the engine has no setting:

* After each Lambda call the engine waits 50 ms for log output that a quiet function never writes.
  A shorter wait takes a warm request from about 60 ms to 10 ms; the next drain reads later lines.
* The engine starts a process for every concurrent call: a hundred parallel requests would start about
  fifty Node processes with 3 GB. Here further calls wait for one of a few workers of their function.
* The engine calls the function of a user pool once for each token that it issues. AWS calls it once
  for all, so the audit holds one record for each refresh.
* The engine ends with the command that started it, even if that command is killed. The command holds
  the other end of standard input; when that closes, this whole process group ends.
"""

import collections
import json
import os
import shutil
import signal
import sys
import threading

from ministack.app import main
from ministack.core.lambda_runtime import Worker
from ministack.services import cognito, lambda_svc

LOG_WAIT_SECONDS = 0.002
LOG_IDLE_SECONDS = 0.001
LOG_CAP_SECONDS = 0.050
WORKERS_PER_FUNCTION = 8


def lower_log_waits() -> None:
    Worker._drain_stderr_bounded.__defaults__ = (LOG_WAIT_SECONDS, LOG_IDLE_SECONDS, LOG_CAP_SECONDS)


def limit_workers() -> None:
    # Waiting is safe: every call has its own thread, and no function of this service invokes itself.
    slots = collections.defaultdict(lambda: threading.BoundedSemaphore(WORKERS_PER_FUNCTION))
    making_slots = threading.Lock()
    dispatch = lambda_svc._execute_function_dispatch

    def dispatch_in_turn(func, config, *rest):
        with making_slots:
            slot = slots[config.get("FunctionArn", "")]
        with slot:
            return dispatch(func, config, *rest)

    lambda_svc._execute_function_dispatch = dispatch_in_turn


def ask_for_claims_once() -> None:
    answers = threading.local()
    issue = cognito._build_auth_result
    execute = lambda_svc._execute_function_with_config_scope

    def issue_asking_once(*args, **options):
        answers.known = {}
        try:
            return issue(*args, **options)
        finally:
            answers.known = None

    def execute_once(func, event):
        known = getattr(answers, "known", None)
        if known is None:
            return execute(func, event)
        asked = json.dumps(event, sort_keys=True)
        if asked not in known:
            known[asked] = execute(func, event)
        return known[asked]

    cognito._build_auth_result = issue_asking_once
    lambda_svc._execute_function_with_config_scope = execute_once


def end_with_parent() -> None:
    # os.read instead of sys.stdin: a thread inside a buffered reader holds a lock that blocks a normal exit.
    while os.read(0, 1024):
        pass
    shutil.rmtree(os.environ["LOCAL_ENGINE_SCRATCH"], ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


lower_log_waits()
limit_workers()
ask_for_claims_once()
threading.Thread(target=end_with_parent, daemon=True).start()
sys.argv = sys.argv[:1]
main()
