"""Decides which requests reach the local AWS engine, which by itself serves everybody.

Anything that a browser or another user of this machine can send arrives here. A request passes if it names this
machine as its host, comes from no web page, and is one of these:

* signed (Signature Version 4) with the keys of this run, or with those that the engine gave to a role or a user,
* for the engine's own paths (/_…), with the secret of this run in the header X-Local-Secret,
* for the API, which authenticates its callers itself; pages of the origins in `cors.allowedOrigins` may call it,
* for what is public on AWS: the key set of a user pool, the renewal of a token by its holder, and password resets by
  mail, for which the service itself sends no signature.
"""

import datetime
import hashlib
import hmac
import json
import re
import urllib.parse
import uuid

from ministack import app as engine
from ministack.core import iam_evaluator, responses, router, sigv4

UNSIGNED_BODIES = ("UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
SIGNED_CHUNKS = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
SIGNED_QUERY = {
    "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
    "X-Amz-SignedHeaders",
}
OLD_SIGNED_QUERY = {"AWSAccessKeyId", "Expires", "Signature"}
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/,\s]+/\d{8}/[^/,\s]+/[^/,\s]+/aws4_request, ?"
    r"SignedHeaders=[a-z0-9;-]+, ?Signature=[0-9a-f]{64}"
)
CREDENTIAL = re.compile(r"[^/,\s]+/\d{8}/[^/,\s]+/s3/aws4_request")
API_PATH = re.compile(r"/restapis/[a-z0-9]+/[A-Za-z0-9_-]+/_user_request_(?!/@connections)(/.*)?", re.DOTALL)
KEY_SET = re.compile(r"/[a-z0-9-]+_[A-Za-z0-9]+/\.well-known/(jwks\.json|openid-configuration)")
# SDKs send these calls unsigned. A page cannot: its browser asks first whether it may set the header, and is refused.
RENEWAL = "AWSCognitoIdentityProviderService.InitiateAuth"
PASSWORD_RESETS = {"AWSCognitoIdentityProviderService." + name for name in ("ForgotPassword", "ConfirmForgotPassword")}


FORBIDDEN = "Forbidden"
# The code of the API for requests that do not reach the service.
DENIED = "AUTHZ.request.denied"
FORWARDED_FOR = b"x-forwarded-for"


class Refused(Exception):
    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


def guarded(app, *, key_id: str, secret: str, ports: list[int], origins: list[str]):
    """Returns the ASGI application behind the gate. `key_id` is the only key of the account's administrator."""
    loopback = {f"{name}:{port}" for name in ("127.0.0.1", "localhost") for port in ports}
    # SDKs address buckets by names of this form, which browsers never resolve to another machine.
    bucket_host = re.compile(r"([a-z0-9-]+\.)+localhost:(%s)" % "|".join(map(str, ports)))

    async def admit(scope, receive):
        """Returns `receive`, after the body if it had to be read. Raises Refused."""
        if scope["type"] != "http" or scope["http_version"] not in ("1.0", "1.1"):
            raise Refused(FORBIDDEN, "The local AWS serves HTTP/1.1 only.")
        pairs = [(name.decode("latin-1").lower(), sigv4.decode_header_value(value)) for name, value in scope["headers"]]
        headers = dict(pairs)
        names = [name for name, _ in pairs]
        method, path, host = scope["method"], scope["path"], headers.get("host", "")
        if names.count("host") != 1 or not (host in loopback or bucket_host.fullmatch(host)):
            raise Refused(FORBIDDEN, "The local AWS is called as 127.0.0.1 or localhost, with its port.")
        if not path.startswith("/"):
            raise Refused(FORBIDDEN, "The local AWS is no proxy.")
        is_api = host in loopback and API_PATH.fullmatch(path)
        if "origin" in headers and not (is_api and names.count("origin") == 1 and headers["origin"] in origins):
            message = "Web pages of this origin may not call the local run: cors.allowedOrigins does not list it."
            raise Refused(DENIED if is_api else FORBIDDEN, message)
        if is_api:
            return receive
        if path.startswith("/_"):
            sent = headers.get("x-local-secret", "")
            if host in loopback and hmac.compare_digest(sent.encode(), secret.encode()):
                return receive
            raise Refused(FORBIDDEN, "X-Local-Secret must be the secret_access_key of .local/service.json.")
        query = urllib.parse.parse_qs(scope["query_string"].decode("utf-8"), keep_blank_values=True)
        if "authorization" not in headers and host in loopback and not query:
            if method == "GET" and KEY_SET.fullmatch(path) and "x-amz-target" not in headers:
                return receive
            if method == "POST" and path == "/" and headers.get("x-amz-target") in PASSWORD_RESETS:
                return receive
            if method == "POST" and path == "/" and headers.get("x-amz-target") == RENEWAL:
                body, replay = await read(receive)
                # The engine does not enforce the flows of the pool's client, which has no other anonymous one.
                if json.loads(body)["AuthFlow"] == "REFRESH_TOKEN_AUTH":
                    return replay
        if len(set(names)) != len(names):
            raise Refused("IncompleteSignature", "A signed request has no header twice.")
        return await signed(method, scope, headers, query, receive)

    async def signed(method, scope, headers, query, receive):
        in_query = "authorization" not in headers
        if in_query and router.detect_service(method, scope["path"], headers, query) != "s3":
            raise Refused("MissingAuthenticationToken", "Sign the request with the keys of .local/service.json.")
        if in_query and "AWSAccessKeyId" in query:
            check_old_link(method, scope["raw_path"].decode("ascii"), headers, query)
            return receive
        signature = signature_of_query(query) if in_query else signature_of_header(headers, query)
        covered = signature.signed_headers.split(";")
        loose = [name for name in headers if name not in covered and (name == "host" or name.startswith("x-amz-"))]
        if loose:
            raise Refused("AccessDenied", f"There were headers present in the request which were not signed: {loose[0]}")
        token = query.get("X-Amz-Security-Token", [""])[0] if in_query else headers.get("x-amz-security-token", "")
        key = secret_of(signature.access_key_id, token)
        body, replay = (b"", receive) if in_query else await read(receive)
        if not in_query:
            check_body(signature.service, headers.get("x-amz-content-sha256"), body)
        failure = sigv4.header_signature_failure(
            signature, key, method, scope["raw_path"].decode("ascii"), query, headers, body, presigned=in_query
        )
        if failure:
            raise Refused(*failure)
        return replay

    def secret_of(access_key_id: str, token: str) -> str:
        if hmac.compare_digest(access_key_id.encode(), key_id.encode()) and not token:
            return secret
        # The engine trusts a few names without a secret, such as `test` and the numbers of accounts.
        if not iam_evaluator.is_root_access_key(access_key_id):
            account = iam_evaluator.find_iam_access_key_account(access_key_id)
            known = iam_evaluator.resolve_credential(access_key_id, account, token)
            if isinstance(known, iam_evaluator.ResolvedCredential):
                return known.secret_access_key
        raise Refused("UnrecognizedClientException", "The security token included in the request is invalid.")

    def check_old_link(method: str, path: str, headers: dict, query: dict) -> None:
        # By default boto3 and the AWS command line sign links to files with version 2, which covers little else.
        if set(query) != OLD_SIGNED_QUERY or any(name.startswith("x-amz-") for name in headers):
            raise Refused("AccessDenied", "The link has parts that are not signed.")
        secret_of(query["AWSAccessKeyId"][0], "")
        request = iam_evaluator.SignedRequest(
            query["AWSAccessKeyId"][0], method, path, query, headers, sigv2=True, auth_path=path
        )
        failure = iam_evaluator._sigv2_check(request, responses.get_account_id())
        if isinstance(failure, iam_evaluator.AuthError):
            raise Refused(failure.code, failure.message)

    async def gate(scope, receive, send):
        if scope["type"] == "lifespan":
            return await app(scope, receive, send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        try:
            receive = await admit(scope, receive)
        except Refused as refused:
            return await refuse(scope, send, refused)
        except (LookupError, TypeError, ValueError):
            return await refuse(scope, send, Refused(FORBIDDEN, "The request is malformed."))

        async def send_to_no_page(message):
            # The engine permits every page to read its responses.
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message["headers"] if not permits_all(name, value)]
                message = {**message, "headers": kept}
            await send(message)

        await app(with_address(scope), receive, send_to_no_page)

    return gate


def with_address(scope) -> dict:
    """Returns the request with the address of the connection. The engine takes it from a header that anybody can send."""
    others = [(name, value) for name, value in scope["headers"] if name.lower() != FORWARDED_FOR]
    return {**scope, "headers": [*others, (FORWARDED_FOR, scope["client"][0].encode())]}


def permits_all(name: bytes, value: bytes) -> bool:
    return name.lower() == b"access-control-allow-origin" and value.strip() == b"*"


def signature_of_header(headers: dict, query: dict):
    if not AUTHORIZATION.fullmatch(headers["authorization"]) or "x-amz-date" not in headers:
        raise Refused("IncompleteSignature", "The request is not signed with Signature Version 4.")
    if {name.lower() for name in query} & {name.lower() for name in SIGNED_QUERY}:
        raise Refused("IncompleteSignature", "A request is signed in its header or in its query, not in both.")
    signature = sigv4.parse_header_signature(headers)
    failure = sigv4.request_time_failure(signature)
    if failure:
        raise Refused(*failure)
    return signature


def signature_of_query(query: dict):
    names = [name for name in query if name.lower() in {one.lower() for one in SIGNED_QUERY}]
    if not names:
        raise Refused("MissingAuthenticationToken", "Sign the request with the keys of .local/service.json.")
    if not SIGNED_QUERY.issuperset(names) or any(len(query[name]) != 1 for name in names):
        raise Refused("IncompleteSignature", "A parameter of the signature is malformed.")
    if SIGNED_QUERY.difference(names, {"X-Amz-Security-Token"}) or query["X-Amz-Algorithm"] != ["AWS4-HMAC-SHA256"]:
        raise Refused("IncompleteSignature", "The link is not signed with Signature Version 4.")
    signature = sigv4.parse_query_signature(query)
    if isinstance(signature, tuple) or not CREDENTIAL.fullmatch(query["X-Amz-Credential"][0]):
        raise Refused("IncompleteSignature", "The credential of the link is malformed.")
    begin = datetime.datetime.strptime(signature.amz_date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    age = (datetime.datetime.now(datetime.timezone.utc) - begin).total_seconds()
    if not -900 <= age <= int(query["X-Amz-Expires"][0]) <= 604_800:
        raise Refused("AccessDenied", "Request has expired")
    return signature


def check_body(service: str, claimed: str | None, body: bytes) -> None:
    """Raises Refused unless the signed hash is that of the body. S3 alone accepts bodies that are signed otherwise."""
    if claimed is None or (service == "s3" and claimed in UNSIGNED_BODIES + SIGNED_CHUNKS):
        return
    if not hmac.compare_digest(claimed.encode(), hashlib.sha256(body).hexdigest().encode()):
        raise Refused("SignatureDoesNotMatch", "The hash of the body is not the signed one.")


async def read(receive):
    """Returns the body, and a `receive` that returns it again."""
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused("RequestTimeout", "The connection was closed.")
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay():
        return unread.pop() if unread else await receive()

    return body, replay


def envelope(refused: Refused, correlation_id: str) -> dict:
    error = {"code": refused.code, "message_id": "error." + refused.code.lower(), "http": 403, "retryable": False}
    return {"error": {**error, "correlation_id": correlation_id, "details": {"message": str(refused)}}}


async def refuse(scope, send, refused: Refused) -> None:
    headers = {name.decode("latin-1").lower(): sigv4.decode_header_value(value) for name, value in scope["headers"]}
    status, sent, body = 403, {"Content-Type": "application/json"}, json.dumps({"message": str(refused)}).encode()
    if refused.code == DENIED:
        sent["X-Correlation-Id"] = str(uuid.uuid4())
        body = json.dumps(envelope(refused, sent["X-Correlation-Id"])).encode()
    elif refused.code != FORBIDDEN:
        # SDKs understand the error in the form of their service only.
        service = router.detect_service(scope["method"], scope["path"], headers, {})
        failure = iam_evaluator.AuthError(refused.code, str(refused))
        status, sent, body = engine._credential_failure(service, "", str(uuid.uuid4()), failure, headers)
    # The body may be unread, so the connection ends.
    await engine._send_response(send, status, {**sent, "Connection": "close"}, body)
