"""Uses the Python client that openapi-python-client generates, and prints the results as JSON."""

import io
import json
import sys
import time

settings = json.load(sys.stdin)
sys.path.insert(0, settings["folder"])

from commerce_api_client import AuthenticatedClient  # noqa: E402
from commerce_api_client.api.codes import import_codes  # noqa: E402
from commerce_api_client.api.imports import create_import  # noqa: E402
from commerce_api_client.api.operations import read_operation  # noqa: E402
from commerce_api_client.api.orders import create_order, list_orders, read_order  # noqa: E402
from commerce_api_client.models import Error, OrderRequest  # noqa: E402
from commerce_api_client.types import File  # noqa: E402

client = AuthenticatedClient(base_url=settings["base_url"], token=settings["token"])


def create(key, amount):
    body = OrderRequest(cart_id="cart-1", amount_minor=amount, currency="EUR")
    return create_order.sync_detailed(client=client, body=body, idempotency_key=key)


def pages():
    cursor = {}
    while True:
        page = list_orders.sync(client=client, page_size=2, **cursor)
        yield [order.id for order in page.data]
        if page.next_cursor is None:
            return
        cursor = {"cursor": page.next_cursor}


def csv(*lines):
    return File(payload=io.BytesIO("\n".join([*lines, ""]).encode()))


def import_customers():
    file = csv("email,name,country", "ada@example.com,Ada,GB", "nobody,Nobody,GB")
    operation = create_import.sync(client=client, body=file, idempotency_key="customers")
    while operation.state in ("pending", "running"):
        time.sleep(0.2)
        operation = read_operation.sync(operation.operation_id, client=client)
    return operation.to_dict()


def add_codes():
    file = csv("code,type,name,expiry_at", "PYTHON-10,percent-10,Sale,2099-01-01T00:00:00Z")
    return import_codes.sync(client=client, body=file, idempotency_key="codes").to_dict()


created, replayed, changed = create("first", 1999), create("first", 1999), create("first", 2000)
orders = [created.parsed.id, create("second", 1).parsed.id, create("third", 2).parsed.id]
results = {
    "created": [created.status_code, created.headers["Idempotency-Status"]],
    "replayed": [replayed.status_code, replayed.headers["Idempotency-Status"]],
    "same": replayed.content == created.content,
    "error": changed.parsed.error.code if isinstance(changed.parsed, Error) else None,
    "read": read_order.sync(orders[1], client=client).amount_minor,
    "orders": orders,
    "pages": list(pages()),
    "customers": import_customers(),
    "codes": add_codes(),
}
print(json.dumps(results))
