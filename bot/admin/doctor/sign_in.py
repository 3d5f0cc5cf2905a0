"""Can people sign in where their company has them: its OpenID provider, and the operator's list of people."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok
from bot.github.oauth import SignInError
from bot.system import people
from bot.web.site.company import openid


def openid_provider(context: DoctorContext) -> Iterator[CheckResult]:
    """Does the company's OpenID provider answer as the settings say?"""
    config = context.config
    if config.sign_in != "oidc":
        return
    try:
        openid.way_to_provider(config, "", "", "")
    except openid.ProviderSettingError as error:
        step = "set CARDINAL_OIDC_ISSUER exactly as the provider's configuration says it"
        yield fail("sign-in", f"{error.problem} ({error.known})", step)
    except SignInError as error:
        yield fail("sign-in", error.because, f"check that {config.oidc_issuer} can be reached from here")
    else:
        yield ok("sign-in", f"the OpenID provider at {config.oidc_issuer} answers")


def people_list(context: DoctorContext) -> Iterator[CheckResult]:
    """Can the operator's list of people be read?"""
    try:
        people.is_admitted(context.config, "")
    except people.PeopleListError as error:
        yield fail(
            "sign-in",
            f"{error.path} cannot be read: {error.problem}",
            "correct it: until then nobody is let in",
        )


CHECKS = (openid_provider, people_list)
ORDER = 4
OF_HOST = (people_list,)
