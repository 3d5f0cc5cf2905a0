"""Environment of programs whose way out is the gateway's proxy."""


def proxy_environment(address: str) -> dict[str, str]:
    """Return the environment in which programs use the gateway's proxy for all hosts but this one."""
    at = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address)
    return at | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
