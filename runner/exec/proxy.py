"""Environment of programs whose way out is the gateway's proxy."""

CERTIFICATES = "authorities.pem"  # in the folder of a gateway
# OpenSSL and most of what uses it; requests; pip; curl; git; cargo; and Node.js, which adds them to its own.
_TRUST = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
    *("CARGO_HTTP_CAINFO", "NODE_EXTRA_CA_CERTS"),
)


def proxy_environment(address: str) -> dict[str, str]:
    """Return the environment in which programs use the gateway's proxy for all hosts but this one."""
    at = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address)
    return at | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")


def trust_environment(bundle: str) -> dict[str, str]:
    """Return the environment in which programs trust the authorities in that file."""
    return dict.fromkeys(_TRUST, bundle)
