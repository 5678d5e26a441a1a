"""Starts the local AWS engine in the foreground; bin/local/engine.ts runs it.

Changes behaviors for which the engine has no setting:

* After each Lambda call the engine waits 50 ms for log output that a quiet function never writes.
  A shorter wait takes a warm request from about 60 ms to 10 ms; the next drain reads later lines.
* The engine starts a process for every concurrent call: a hundred parallel requests would start about
  fifty Node processes with 3 GB. Here further calls wait for one of a few workers of their function.
* The engine calls the function of a user pool once for each token that it issues. AWS calls it once
  for all, so the audit holds one record for each refresh.
* The engine enforces the permissions of the functions' roles (AUTH=true) and refuses five kinds of calls that AWS
  would allow. `allow_as_aws_does` names them. It does not know dynamodb:LeadingKeys: `name_leading_keys` adds this key.
* The engine serves every web page and every user of the machine. `gate.py` refuses them. The keys that it gives to
  the roles of functions follow from their names; here they are random.
* The engine ends with the command that started it, even if that command is killed. The command holds
  the other end of standard input; when that closes, this whole process group ends.
* The engine describes content that a 204 or 304 does not have: its length as 0, and its media type as JSON.
* The engine answers 429 for a function that has no free concurrency, and ignores the limit for aliases. The gateway of
  AWS reports a failed integration, and the limit is that of the function.
* An update of a nested stack forgets the attributes of the resources that it does not change.
* The engine does not describe from which table, and to which time, a table was restored.
* The engine has no access log. Each request, and each log line of a function as it is written, becomes
  a line of JSON in the file LOCAL_ENGINE_ACTIVITY, which the console reads. It also forgets the tags of mails:
  the file says which mail has which.
"""

import collections
import json
import os
import re
import secrets
import shutil
import signal
import sys
import threading
import time
import urllib.parse

from ministack import app
from ministack.core import iam_actions, iam_evaluator, lambda_runtime
from ministack.core.lambda_runtime import Worker
from ministack.services import apigateway_v1, cloudformation, cognito, dynamodb, lambda_svc, ses_v2, sts
from ministack.services.cloudformation import provisioners

sys.dont_write_bytecode = True  # of the next modules, which are in the repository
from gate import guarded
from request_record import request_record

sys.dont_write_bytecode = False

LOG_WAIT_SECONDS = 0.002
LOG_IDLE_SECONDS = 0.001
LOG_CAP_SECONDS = 0.050
WORKERS_PER_FUNCTION = 8


def refuse_strangers() -> None:
    # Everything that the engine writes is for this user only, and functions do not inherit the secret of the run.
    os.umask(0o077)
    access = json.loads(os.environ.pop("LOCAL_ENGINE_ACCESS"))
    os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"] = access["key_id"], access["secret"]
    app.app = guarded(app.app, **access)


def make_keys_of_roles_random() -> None:
    def execution_credentials(config):
        account, role, function = config["FunctionArn"].split(":")[4], config["Role"].split("/")[-1], config["FunctionName"]
        keys = {
            "AWS_ACCESS_KEY_ID": f"ASIA{secrets.token_hex(8).upper()}",
            "AWS_SECRET_ACCESS_KEY": secrets.token_urlsafe(30),
            "AWS_SESSION_TOKEN": secrets.token_urlsafe(30),
        }
        sts.register_session(keys["AWS_ACCESS_KEY_ID"], {
            "Arn": f"arn:aws:sts::{account}:assumed-role/{role}/{function[:64]}",
            "UserId": f"{role}:{function[:64]}",
            "SecretAccessKey": keys["AWS_SECRET_ACCESS_KEY"],
            "SessionToken": keys["AWS_SESSION_TOKEN"],
        })
        return keys

    lambda_runtime.execution_credentials = lambda_svc.execution_credentials = execution_credentials


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


def fail_throttled_integrations() -> None:
    class Throttled(Exception):
        pass

    response_of = apigateway_v1._lambda_proxy_response
    invoke = apigateway_v1._invoke_lambda_proxy_v1

    def response_unless_throttled(result):
        if result.get("throttle"):
            raise Throttled
        return response_of(result)

    async def invoke_or_fail(*args, **options):
        try:
            return await invoke(*args, **options)
        except Throttled:
            return apigateway_v1._gw_error("INTEGRATION_FAILURE", "Internal server error")

    def limit_of_function(func, config):
        return lambda_svc._functions.get(config.get("FunctionName"), func).get("concurrency")

    lambda_svc._reserved_concurrency = limit_of_function
    apigateway_v1._lambda_proxy_response = response_unless_throttled
    apigateway_v1._invoke_lambda_proxy_v1 = invoke_or_fail


def keep_attributes_in_nested_stacks() -> None:
    update = provisioners._update_resource

    def update_knowing(resource_type, physical_id, old, new, stack, logical_id=None, attributes=None):
        if attributes is None:
            resources = cloudformation._stacks.get(stack, {}).get("_resources", {})
            attributes = resources.get(logical_id, {}).get("Attributes")
        return update(resource_type, physical_id, old, new, stack, logical_id, attributes)

    provisioners._update_resource = update_knowing


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


def record_activity() -> None:
    file = open(os.environ["LOCAL_ENGINE_ACTIVITY"], "w", buffering=1, encoding="utf-8")
    writing = threading.Lock()
    execute = apigateway_v1.handle_execute

    def record(**entry) -> None:
        with writing:
            file.write(json.dumps(entry) + "\n")

    async def execute_recorded(api, stage, method, path, headers, body, query):
        started = time.time()
        status, sent_headers, sent_body = response = await execute(api, stage, method, path, headers, body, query)
        milliseconds = round((time.time() - started) * 1000)
        full_path = path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        shown = request_record(method, full_path, headers, body, status, sent_headers, sent_body)
        record(kind="request", at=started * 1000, milliseconds=milliseconds, **shown)
        return response

    def read_and_record(worker) -> None:
        for line in worker._proc.stderr:
            text = line.rstrip("\n")
            worker._stderr_queue.put(text)
            record(kind="log", at=time.time() * 1000, function=worker.func_name, line=text)

    send = ses_v2.handle_request

    async def send_recorded(method, path, headers, body, query_params):
        status, _, sent_body = response = await send(method, path, headers, body, query_params)
        if status == 200 and method == "POST" and path.rstrip("/").endswith("/outbound-emails"):
            tags = {tag["Name"]: tag["Value"] for tag in json.loads(body).get("EmailTags", [])}
            record(kind="mailed", id=json.loads(sent_body)["MessageId"], message_id=tags.get("message_id"))
        return response

    apigateway_v1.handle_execute = execute_recorded
    ses_v2.handle_request = send_recorded
    Worker._read_stderr = read_and_record


def allow_as_aws_does() -> None:
    # Policies of buckets and queues require TLS. The engine is reached over HTTP, on loopback only.
    pin_origin = app.pin_request_origin
    app.pin_request_origin = lambda source_ip, _secure: pin_origin(source_ip, True)

    # On AWS the Ref of a secret is its ARN, which the policies name. The engine stores secrets by name.
    secrets = provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"]
    create, update, delete = secrets["create"], secrets["update"], secrets["delete"]
    name_of = lambda arn: arn.split(":secret:")[-1].rsplit("-", 1)[0]
    with_arn = lambda result: (result[1]["Arn"], result[1])
    secrets["create"] = lambda *args: with_arn(create(*args))
    secrets["update"] = lambda arn, *args, **options: with_arn(update(name_of(arn), *args, **options))
    secrets["delete"] = lambda arn, props: delete(name_of(arn), props)

    # AWS checks the action of each statement on its table, not BatchExecuteStatement; this service only inserts.
    # For a batch of messages it checks the action of one message, and for a mail the identity of the sender.
    action_of, resource_of = iam_actions.extract_iam_action, iam_actions.extract_resource_arn

    def action_of_entries(service, method, path, headers, body, query_params):
        action = action_of(service, method, path, headers, body, query_params)
        if action == "dynamodb:BatchExecuteStatement":
            return "dynamodb:PartiQLInsert"
        return action.removesuffix("Batch") if action and service == "sqs" else action

    def resource_of_entries(service, method, path, headers, body, query_params, region, account):
        if service == "ses" and path.endswith("/outbound-emails"):
            sender = json.loads(body)["FromEmailAddress"].split("<")[-1].rstrip(">")
            return f"arn:aws:ses:{region}:{account}:identity/{sender}"
        statements = json.loads(body or b"{}").get("Statements") if service == "dynamodb" else None
        if not statements:
            return resource_of(service, method, path, headers, body, query_params, region, account)
        table = statements[0]["Statement"].split('"')[1]
        return f"arn:aws:dynamodb:{region}:{account}:table/{table}"

    iam_actions.extract_iam_action = action_of_entries
    iam_actions.extract_resource_arn = resource_of_entries


def name_leading_keys() -> None:
    # The roles of functions are limited to the items that each function declares.
    context_of = iam_actions.dynamodb_service_context

    def context_with_keys(body):
        keys = leading_keys(json.loads(body or b"{}"))
        return {**context_of(body), **({"dynamodb:LeadingKeys": keys} if keys else {})}

    iam_actions.dynamodb_service_context = context_with_keys


def leading_keys(request: dict) -> list:
    """The partition keys that a request to DynamoDB names; of a transaction, those of all its parts."""
    parts = [request, *(part for entry in request.get("TransactItems", []) for part in entry.values())]
    keys = [part[name].get("pk") for part in parts for name in ("Key", "Item") if name in part]
    batches = [batch for batch in request.get("RequestItems", {}).values() if isinstance(batch, dict)]
    keys += [key.get("pk") for batch in batches for key in batch["Keys"]]
    for statement in request.get("Statements", []):
        names = re.findall(r"'(\w+)': \?", statement["Statement"])
        keys.append(dict(zip(names, statement.get("Parameters", []))).get("pk"))
    condition = re.match(r"\w+ = (:\w+)", request.get("KeyConditionExpression", ""))
    if condition:
        keys.append(request["ExpressionAttributeValues"].get(condition[1]))
    return [key["S"] for key in keys if key]


def describe_no_content() -> None:
    send = app._send_response

    async def send_as_is(send_event, status, headers, body, *, head=False):
        empty = status in (204, 304)
        if empty:
            headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        await send(send_event, status, headers, body, head=head or empty)

    app._send_response = send_as_is


def describe_restores() -> None:
    restore, describe = dynamodb._restore_table_to_point_in_time, dynamodb._table_description

    def restore_and_record(request):
        response = restore(request)
        if response[0] == 200:
            dynamodb._tables[request["TargetTableName"]]["RestoreSummary"] = {
                "SourceTableArn": dynamodb._tables[request["SourceTableName"]]["TableArn"],
                "RestoreDateTime": request["RestoreDateTime"],
                "RestoreInProgress": False,
            }
        return response

    def describe_with_summary(name):
        summary = dynamodb._tables[name].get("RestoreSummary")
        return {**describe(name), **({"RestoreSummary": summary} if summary else {})}

    dynamodb._restore_table_to_point_in_time = restore_and_record
    dynamodb._table_description = describe_with_summary


def record_permissions() -> None:
    # Tests compare these with the roles: one line `ROLE ACTION allowed|denied` for each combination.
    enforce, recorded = iam_evaluator.enforce, set()
    log = open(os.environ["LOCAL_ENGINE_PERMISSIONS"], "w", buffering=1)

    def enforce_and_record(access_key, action, *args, **options):
        denied = enforce(access_key, action, *args, **options)
        caller = sts._sessions.get(access_key or "")
        if caller:
            line = f"{caller['Arn'].split('/')[1]} {action} {'denied' if denied else 'allowed'}\n"
            if line not in recorded:
                recorded.add(line)
                log.write(line)
        return denied

    iam_evaluator.enforce = enforce_and_record


def end_with_parent() -> None:
    # os.read instead of sys.stdin: a thread inside a buffered reader holds a lock that blocks a normal exit.
    while os.read(0, 1024):
        pass
    shutil.rmtree(os.environ["LOCAL_ENGINE_SCRATCH"], ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


refuse_strangers()
make_keys_of_roles_random()
lower_log_waits()
limit_workers()
fail_throttled_integrations()
keep_attributes_in_nested_stacks()
ask_for_claims_once()
record_activity()
allow_as_aws_does()
name_leading_keys()
describe_no_content()
describe_restores()
record_permissions()
threading.Thread(target=end_with_parent, daemon=True).start()
sys.argv = sys.argv[:1]
app.main()
