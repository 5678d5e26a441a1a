"""Describes a request and its response for the console. Secrets are hidden, because this is written to a file.

The value of a header is shown only if the header is known to carry no secret. In bodies and addresses, the values of
members such as `password` and `access_token` are hidden, and so are tokens, keys and signed links wherever they appear.
"""

import json
import re

BODY_CHARACTERS = 8192
PATH_CHARACTERS = 2048
HIDDEN = "hidden"
SHOWN_HEADERS = {
    "accept", "accept-encoding", "accept-language", "accept-patch", "accept-post", "allow", "cache-control",
    "connection", "content-disposition", "content-encoding", "content-length", "content-security-policy",
    "content-type", "date", "deprecation", "etag", "host", "idempotency-key", "idempotency-status", "if-match",
    "if-none-match", "link", "location", "origin", "referer", "referrer-policy", "retry-after",
    "strict-transport-security", "sunset", "traceparent", "user-agent", "vary", "webhook-id", "webhook-timestamp",
    "www-authenticate", "x-audit-log-reason", "x-cart-id", "x-content-type-options", "x-correlation-id",
    "x-frame-options", "x-request-timeout",
}
SECRET_NAME = r"(?:password|_token|secret|session|credential|signature|api_?key)"
# The lengths are bounded, because a search in text that almost matches would take long.
SECRET_MEMBERS = re.compile(rf'("[^"]{{0,64}}{SECRET_NAME}[^"]{{0,64}}"\s*:\s*\\?)"(?:[^"\\]|\\.)*"?', re.I)
SECRET_PARAMETERS = re.compile(rf'({SECRET_NAME}[\w-]{{0,64}}=)[^&\s"]*', re.I)
SECRET_VALUES = re.compile(r"eyJ[\w-]{6,512}\.[\w-]+(?:\.[\w-]*)?|\b(?:ck|sk|whsec)_[\w+/=.-]+")


def request_record(method, path, headers, body, status, sent_headers, sent_body) -> dict:
    """Returns what is shown of a request. `path` includes the query; bodies are bytes."""
    sent = {name.lower(): value for name, value in (sent_headers or {}).items()}
    return {
        "method": method,
        "path": without_secrets(path)[:PATH_CHARACTERS],
        "status": status,
        "error_code": error_code_of(sent_body) if status >= 400 else None,
        "correlation_id": sent.get("x-correlation-id"),
        "idempotency_status": sent.get("idempotency-status"),
        "request": message(headers, body),
        "response": message(sent_headers, sent_body),
    }


def message(headers, body) -> dict:
    """Returns the headers, the start of the body, and the number of the body's bytes."""
    content = body.encode() if isinstance(body, str) else body or b""
    # A secret at the end of the part that is shown is complete, so that it is found.
    text = without_secrets(content[: 2 * BODY_CHARACTERS].decode("utf-8", errors="replace"))
    shown = {name.lower(): shown_header(name.lower(), value) for name, value in (headers or {}).items()}
    return {"headers": shown, "body": text[:BODY_CHARACTERS], "bytes": len(content)}


def shown_header(name: str, value) -> str:
    if name not in SHOWN_HEADERS:
        return HIDDEN
    return without_secrets(value if isinstance(value, str) else ", ".join(map(str, value)))[:PATH_CHARACTERS]


def without_secrets(text: str) -> str:
    text = SECRET_MEMBERS.sub(rf'\1"{HIDDEN}"', text)
    return SECRET_VALUES.sub(HIDDEN, SECRET_PARAMETERS.sub(rf"\1{HIDDEN}", text))


def error_code_of(body) -> str | None:
    try:
        return json.loads(body)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None
