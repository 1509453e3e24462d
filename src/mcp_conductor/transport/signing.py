"""private_key_jwt: a client that authenticates with a signature. The only module that needs `cryptography`."""

import secrets
import time
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import open_file
from mcp_conductor.protocol.oauth_requests import SigningAlgorithm, assertion, assertion_input

_P256_BYTES = 32


def client_assertion(client_id: str, audience: str, *, key_file: str, algorithm: SigningAlgorithm | None) -> str:
    """A JWT that says we are CLIENT_ID, signed with the key in KEY_FILE; without an ALGORITHM, by what fits the key."""
    key = _load(key_file)
    used: SigningAlgorithm = algorithm or ("ES256" if hasattr(key, "curve") else "RS256")
    text = assertion_input(
        client_id, audience, algorithm=used, now=int(time.time()), identity=secrets.token_urlsafe(16)
    )
    return assertion(text, _signature(key, used, text.encode(), key_file))


def _load(key_file: str) -> Any:
    try:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise UsageError(
            "signing with a private key needs the package cryptography", hint="pip install 'mcp-conductor[jwt]'"
        ) from None
    try:
        with open_file(key_file) as file:
            return load_pem_private_key(file.read(), password=None)
    except OSError as error:
        raise UsageError(f"cannot read the private key {key_file}: {error.strerror}") from error
    except (ValueError, TypeError):
        # Not chained: the reason may quote the file.
        raise UsageError(
            f"{key_file} is not a private key that can be used", hint="it must be a PEM file without a passphrase"
        ) from None


def _signature(key: Any, algorithm: SigningAlgorithm, data: bytes, key_file: str) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
    from cryptography.hazmat.primitives.hashes import SHA256

    if algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), SHA256())
    if algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        # A JWT wants the two numbers side by side, not wrapped in ASN.1 (RFC 7518, section 3.4).
        pair = utils.decode_dss_signature(key.sign(data, ec.ECDSA(SHA256())))
        return b"".join(number.to_bytes(_P256_BYTES, "big") for number in pair)
    wanted = "an RSA key" if algorithm == "RS256" else "a key on the curve P-256"
    raise UsageError(f"{algorithm} needs {wanted}, and the key in {key_file} is another")
