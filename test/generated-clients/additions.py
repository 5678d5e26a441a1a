"""Calls every operation with the Python client of OpenAPI Generator, and prints the results as JSON."""

import inspect
import json
import re
import sys

job = json.load(sys.stdin)
sys.path.insert(0, job["folder"])

import openapi_client  # noqa: E402


def plain(name):
    return re.sub("[^a-z0-9]", "", name.lower())


def body_of(call):
    # The client takes a text for the name of a file.
    return call["body"].encode() if isinstance(call["body"], str) else call["body"]


def arguments(call, method):
    values = {plain(name): value for name, value in call["parameters"].items()}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.default is parameter.empty:
            yield name, values[plain(name)] if plain(name) in values else body_of(call)


def result(call, client):
    api = getattr(openapi_client, f"{call['tag'].capitalize()}Api")(client)
    name = re.sub("([A-Z])", lambda match: "_" + match[1].lower(), call["operation"])
    method = getattr(api, f"{name}_with_http_info")
    # Where an operation takes CSV or JSON, the client would declare JSON.
    kind = "text/csv" if isinstance(call.get("body"), str) else None
    try:
        response = method(**dict(arguments(call, method)), _content_type=kind)
    except openapi_client.ApiException as error:
        return {"status": error.status, "body": json.loads(error.body)}
    except Exception as failure:
        return {"thrown": repr(failure)}
    body = response.data
    return {"status": response.status_code, "body": body.to_dict() if hasattr(body, "to_dict") else body}


configurations = [openapi_client.Configuration(host=url, access_token="token") for url in job["urls"]]
clients = [openapi_client.ApiClient(configuration) for configuration in configurations]
results = [{call["operation"]: result(call, client) for call in job["calls"]} for client in clients]
print(json.dumps(results, default=lambda time: time.isoformat()))
