"""Signs an event with the official library of Standard Webhooks and sends it. Reads JSON from standard input."""

import json
import sys
import urllib.error
import urllib.request
from datetime import datetime, timezone

from standardwebhooks import Webhook

event = json.load(sys.stdin)
now = datetime.now(tz=timezone.utc)
headers = {
    "Content-Type": "application/json",
    "webhook-id": event["id"],
    "webhook-timestamp": str(int(now.timestamp())),
    "webhook-signature": Webhook(event["secret"]).sign(event["id"], now, event["body"]),
}
request = urllib.request.Request(event["url"], event["body"].encode(), headers, method="POST")
try:
    with urllib.request.urlopen(request, timeout=30) as response:
        print(response.status)
except urllib.error.HTTPError as error:
    print(error.code)
