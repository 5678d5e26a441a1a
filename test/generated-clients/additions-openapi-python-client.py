"""Calls every operation with the client of openapi-python-client, and prints the results as JSON."""

import importlib
import inspect
import io
import json
import re
import sys
import typing

job = json.load(sys.stdin)
sys.path.insert(0, job["folder"])

from commerce_api_client import AuthenticatedClient  # noqa: E402
from commerce_api_client.types import File  # noqa: E402


def plain(name):
    return re.sub("[^a-z0-9]", "", name.lower())


def body_of(call, hint):
    if isinstance(call["body"], str):
        return File(payload=io.BytesIO(call["body"].encode()))
    kinds = [kind for kind in typing.get_args(hint) or (hint,) if hasattr(kind, "from_dict")]
    return kinds[0].from_dict(call["body"])


def arguments(call, function):
    values = {plain(name): value for name, value in call["parameters"].items()}
    hints = typing.get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "body" and "body" in call:
            yield name, body_of(call, hints[name])
        elif parameter.default is parameter.empty and name != "client":
            yield name, values[plain(name)]


def result(call, client):
    name = re.sub("([A-Z])", lambda match: "_" + match[1].lower(), call["operation"])
    module = importlib.import_module(f"commerce_api_client.api.{call['tag']}.{name}")
    try:
        response = module.sync_detailed(client=client, **dict(arguments(call, module.sync_detailed)))
    except Exception as failure:
        return {"thrown": repr(failure)}
    body = response.parsed
    return {"status": response.status_code, "body": body.to_dict() if hasattr(body, "to_dict") else body}


clients = [AuthenticatedClient(base_url=url, token="token") for url in job["urls"]]
results = [{call["operation"]: result(call, client) for call in job["calls"]} for client in clients]
print(json.dumps(results, default=lambda content: content.decode()))
