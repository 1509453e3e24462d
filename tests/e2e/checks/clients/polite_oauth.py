"""The polite client over HTTP, with OAuth: what it does when the server wants a token. A test breaks one step of it."""

import base64
import hashlib
import json
import secrets
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from polite_client import *  # noqa: F403
from polite_client import Client, Http, Refused

BACK = "http://127.0.0.1:8765/callback"


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *given):
        return None


def fetch(url, data=None, headers=None):
    try:
        with build_opener(_Stay).open(Request(url, data, headers or {})) as response:
            return response.status, dict(response.headers), response.read()
    except HTTPError as error:
        return error.code, dict(error.headers), error.read()


def document(url):
    status, _, body = fetch(url)
    return json.loads(body) if status == 200 else None


class OAuth:
    """The steps to a token."""

    insist = True  # on everything that a careful client insists on

    def __init__(self, url):
        self.url = url
        self.origin = url.removesuffix(urlsplit(url).path)

    def token(self, challenge):
        resource = self.resource(challenge)
        if self.insist and resource["resource"] != self.url:
            raise Refused("another resource")
        issuer = resource["authorization_servers"][0]
        server = self.server(issuer)
        if self.insist and server["issuer"] != issuer:
            raise Refused("another issuer")
        if self.insist and "S256" not in server.get("code_challenge_methods_supported", []):
            raise Refused("no PKCE")
        client = self.register(server)
        verifier = secrets.token_urlsafe(48)
        code = self.code(server, client, verifier, challenge, issuer)
        form = self.form(client, code, verifier)
        _, _, body = fetch(server["token_endpoint"], urlencode(form).encode())
        return json.loads(body)["access_token"]

    def resource(self, challenge):
        for url in self.places(challenge):
            if (found := document(url)) is not None:
                return found
        raise Refused("no metadata")

    def places(self, challenge):
        if "resource_metadata=" in challenge:
            return [challenge.partition('resource_metadata="')[2].partition('"')[0]]
        root = f"{self.origin}/.well-known/oauth-protected-resource"
        return [root + urlsplit(self.url).path, root]

    def server(self, issuer):
        path = urlsplit(issuer).path
        for url in self.server_places(path):
            if (found := document(self.origin + url)) is not None:
                return found
        raise Refused("no metadata")

    def server_places(self, path):
        known = "/.well-known/"
        return [
            f"{known}oauth-authorization-server{path}",
            f"{known}openid-configuration{path}",
            f"{path}{known}openid-configuration",
        ]

    def registration(self):
        return {
            "client_name": "polite",
            "redirect_uris": [BACK],
            "application_type": "native",
            "token_endpoint_auth_method": "none",
        }

    def register(self, server):
        body = json.dumps(self.registration()).encode()
        _, _, answer = fetch(server["registration_endpoint"], body, {"Content-Type": "application/json"})
        return json.loads(answer)["client_id"]

    def query(self, client, verifier, challenge):
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        return {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": BACK,
            "state": secrets.token_urlsafe(8),
            "scope": challenge.partition('scope="')[2].partition('"')[0],
            "code_challenge": digest,
            "code_challenge_method": "S256",
            "resource": self.url,
        }

    def code(self, server, client, verifier, challenge, issuer):
        query = self.query(client, verifier, challenge)
        _, headers, _ = fetch(f"{server['authorization_endpoint']}?{urlencode(query)}")
        back = dict(parse_qsl(urlsplit({name.lower(): value for name, value in headers.items()}["location"]).query))
        self.check(back, query, issuer)
        return back["code"]

    def check(self, back, query, issuer):
        if back["state"] != query["state"] or back["iss"] != issuer:
            raise Refused("the user was sent back by another server")

    def form(self, client, code, verifier):
        return {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": BACK,
            "resource": self.url,
        }


class TokenHttp(Http):
    token = None
    oauth = OAuth

    def ask(self, method, headers, body=None):
        response = super().ask(method, self.with_token(headers), body)
        if response.status == 401 and self.token is None:
            self.token = self.oauth(self.url).token(response.getheader("WWW-Authenticate"))
            response = super().ask(method, self.with_token(headers), body)
        return response

    def with_token(self, headers):
        return {**headers, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}


class TokenClient(Client):
    def __init__(self, argv, oauth=OAuth):
        super().__init__(argv)
        self.link = TokenHttp(self, argv[argv.index("--url") + 1])
        self.link.oauth = oauth
