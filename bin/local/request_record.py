"""Describes a request and its response for the console. Secrets are hidden, because this is written to a file.

The value of a header is shown only if the header is known to carry no secret. In bodies and addresses, the values of
members and parameters such as `password` and `access_token` are hidden, and so are tokens and keys wherever they appear.
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
    "x-forwarded-for", "x-frame-options", "x-request-timeout",
}
# A `token_type` is no secret.
SECRET_NAME = r"(?:password|token(?!_type)|secret|session|credential|signature|api[_-]?key)"
# For text that is not JSON, such as a body that is cut off: a value that is a list or an object is hidden with all that
# follows. The lengths are bounded, because a search in text that almost matches would take long.
SECRET_MEMBERS = re.compile(
    rf'("[^"]{{0,64}}{SECRET_NAME}[^"]{{0,64}}"\s*:\s*\\?)(?:"(?:[^"\\]|\\.)*"?|[\[{{].*|[^\s"\\,\]}}]+)', re.I | re.S
)
SECRET_PARAMETERS = re.compile(rf'({SECRET_NAME}[\w.%\[\]-]{{0,64}}=)[^&\s"]*', re.I)
SECRET_VALUES = re.compile(r"eyJ[\w-]{6,512}\.[\w-]+(?:\.[\w-]*)?|\b(?:ck|sk|whsec)_[\w+/=.-]+")
ESCAPED = re.compile(r"(?:\\{1,8}u00|%)([2-7][0-9a-f])", re.I)


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
    text = without_secrets(without_members(content.decode("utf-8", errors="replace"))[: 2 * BODY_CHARACTERS])
    shown = {name.lower(): shown_header(name.lower(), value) for name, value in (headers or {}).items()}
    return {"headers": shown, "body": text[:BODY_CHARACTERS], "bytes": len(content)}


def shown_header(name: str, value) -> str:
    if name not in SHOWN_HEADERS:
        return HIDDEN
    return without_secrets(value if isinstance(value, str) else ", ".join(map(str, value)))[:PATH_CHARACTERS]


def without_members(text: str) -> str:
    """Returns JSON with the values of secret members hidden, and other text as it is."""
    found = False

    def hide(members):
        nonlocal found
        secret = {name for name, _ in members if re.search(SECRET_NAME, name, re.I)}
        found = found or bool(secret)
        return {name: HIDDEN if name in secret else value for name, value in members}

    try:
        value = json.loads(text, object_pairs_hook=hide)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if found else text


def without_secrets(text: str) -> str:
    """Returns the text with its secrets hidden, and with letters instead of their escapes."""
    text = SECRET_MEMBERS.sub(rf'\1"{HIDDEN}"', ESCAPED.sub(unescaped, text))
    return SECRET_VALUES.sub(HIDDEN, SECRET_PARAMETERS.sub(rf"\1{HIDDEN}", text))


def unescaped(match) -> str:
    character = chr(int(match[1], 16))
    return character if character.isalnum() or character in "-_." else match[0]


def error_code_of(body) -> str | None:
    try:
        return json.loads(body)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None
