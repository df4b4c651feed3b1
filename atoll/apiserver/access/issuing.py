"""What others need in order to check the tokens of service accounts by themselves (OIDC discovery).

Two documents, made of the server's signing key and its address. Who may read them is decided by
roles, as everything else.
"""

from atoll.apiserver.access.accounts import ISSUER
from atoll.apiserver.access.signing import Signing
from atoll.wire import Wire

KEYS_PATH = "/openid/v1/jwks"
CONFIGURATION_PATH = "/.well-known/openid-configuration"
PATHS = (CONFIGURATION_PATH, KEYS_PATH)
KEYS_TYPE = "application/jwk-set+json"
KEPT = "public, max-age=3600"


def configuration(signing: Signing) -> Wire:
    """Who issues tokens, and where the keys are to check them with."""
    return {
        "issuer": ISSUER,
        "jwks_uri": f"{signing.url or ISSUER}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


def keys(signing: Signing) -> Wire:
    """The public keys that tokens are signed with."""
    return {"keys": [signing.public_key()]}
