"""Mail arrives at a real server, and a reply is believed for its token alone."""

import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from socket import create_server, socket
from threading import Event, Thread
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot import frontends
from bot.admin.doctor import CheckResult, DoctorContext
from bot.admin.doctor.notices import served
from bot.frontends import NewsItem, Notice, PersonReply, UnfitAddressError, UnreadMessageError
from bot.frontends.mail import reading, sending
from bot.frontends.mail.reading import ATTACHED, EMPTY, FOREIGN, MAX_BYTES, OVER, SEVERAL, TOO_LARGE
from bot.github.client import Hub
from bot.outbox import subscribers
from bot.system.config import Config, ConfigError, read
from bot.system.secret import Secret
from rules.chatops.notices import Subscriber
from tests.bot.frontends.post_office import PostOffice, open_office, text_of

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
ADDRESS = "mail:alice@example.org"
PEOPLE = {"alice": Subscriber(address=ADDRESS), "bob": Subscriber(address="mail:bob@example.org")}
QUESTION = NewsItem("A question: acme/shop#1 Totals", {}, "http://forge/1", "Cents or euros?", "r1-q1")
NOTICE = Notice("notice:alice:question:r1-q1", NOW, "Cardinal, board acme/1: 1 notice", "alice", (QUESTION,))
HTML = "<html><head><title>Hi</title><style>p {}</style></head><body>"


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with open_office() as opened:
        yield opened


def settings(office: PostOffice, tmp_path: Path, **more: str) -> Config:
    environ = {f"CARDINAL_{name.upper()}": value for name, value in {**office.settings, **more}.items()}
    return replace(read(environ, tmp_path), private_key=Secret("-----BEGIN KEY"))


@pytest.fixture
def config(office: PostOffice, tmp_path: Path) -> Config:
    return settings(office, tmp_path)


def tell(config: Config, notice: Notice = NOTICE, address: str = ADDRESS) -> bool:
    return frontends.front_end_of(address).send_notice(config, address, notice)


def test_a_question_arrives_under_the_same_id_each_time(config: Config, office: PostOffice) -> None:
    assert tell(config)
    assert tell(config)
    first, again = office.mails
    assert first["Message-ID"] == again["Message-ID"]
    assert (first["Auto-Submitted"], first["Subject"]) == ("auto-generated", QUESTION.headline)
    assert first["Reply-To"].startswith("cardinal+r1-q1.")
    assert text_of(first).startswith(sending.MARKER)
    assert "A question: acme/shop#1 Totals http://forge/1\n\nCents or euros?\n" in text_of(first)


def test_each_piece_of_a_digest_has_an_address_of_its_own(config: Config, office: PostOffice) -> None:
    tell(config, replace(NOTICE, items=(QUESTION, replace(QUESTION, topic="r2"), NewsItem("Stopped", {}))))
    (mail,) = office.mails
    assert mail["Reply-To"] is None
    shown = [line for line in text_of(mail).split("\n") if line.startswith("To reply")]
    assert [line.split("+")[1].split(".")[0] for line in shown] == ["r1-q1", "r2"]
    for line in shown:
        reply = office.reply("Cents", To=line.split()[-1])
        assert reading.read(config, PEOPLE, reply, NOW).topic == line.split("+")[1].split(".")[0]


def test_outside_text_makes_no_header_and_no_long_line(config: Config, office: PostOffice) -> None:
    hostile = "Totals\r\nBcc: eve@example.org\r\n\r\n =?utf-8?q?x=0d=0aBcc:=20eve?= \x00ü"
    tell(config, replace(NOTICE, items=(replace(QUESTION, headline=hostile, detail="y" * 5_000),)))
    (mail,) = office.mails
    assert (mail["Bcc"], mail["X-RcptTo"]) == (None, "alice@example.org")
    assert max(len(line) for line in mail.as_string().split("\n")) < 998
    assert "y" * 5_000 in text_of(mail)


def certificate(folder: Path) -> ssl.SSLContext:
    """Write a certificate of localhost, and return a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "ca.pem").write_bytes(made.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return context


def sign_in(_server: object, _session: object, _envelope: object, _mechanism: str, data: Any) -> AuthResult:
    known = isinstance(data, LoginPassword) and data == LoginPassword(b"cardinal", b"s3cret")
    return AuthResult(success=known, handled=False)


@pytest.mark.filterwarnings("ignore:Session.login_data is deprecated")  # aiosmtpd's own use
@pytest.mark.parametrize(("scheme", "key"), [("smtp+starttls", "tls_context"), ("smtps", "ssl_context")])
def test_the_password_goes_by_tls_to_whom_the_certificate_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, key: str
) -> None:
    how = {key: certificate(tmp_path), "authenticator": sign_in, "auth_require_tls": scheme != "smtps"}
    with open_office(scheme, "localhost", **how) as office:
        config = settings(office, tmp_path, mail_user="cardinal", mail_password="s3cret")
        assert not tell(config)  # nobody vouches for the certificate
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert tell(config)
        assert sending.examine(config).next_step == ""
        wrong = replace(config, mail_password=Secret("wrong"))
        assert not tell(wrong)
        said = sending.examine(wrong)
        assert "CARDINAL_MAIL_PASSWORD" in said.next_step
        assert "wrong" not in said.message
        assert "535" in said.message
    assert len(office.mails) == 1


def test_the_doctor_says_what_is_missing(config: Config, tmp_path: Path) -> None:
    subscribers.write(config.home, PEOPLE)

    def examined(changed: Config) -> CheckResult:
        (result,) = served(DoctorContext(changed, None, Hub(changed, lambda: NOW), NOW))
        return result

    assert examined(config).message.endswith("`cardinal receive mail`")
    assert "nobody can reply" in examined(replace(config, mail_replies="")).message
    for changed in (replace(config, mail_server=""), replace(config, mail_server="smtp://127.0.0.1:1")):
        assert (examined(changed).level, examined(changed).name) == ("fail", "notices by mail")
        assert "CARDINAL_MAIL_SERVER" in examined(changed).next_step
    subscribers.write(config.home, {"ops": Subscriber(address="json://127.0.0.1", channel=True)})
    assert list(served(DoctorContext(config, None, Hub(config, lambda: NOW), NOW))) == []


def test_wrong_settings_and_addresses_are_named(tmp_path: Path, config: Config) -> None:
    for wrong, named in (
        ({"CARDINAL_MAIL_SERVER": "smtp://mail.example.com"}, "works only on this machine"),
        (
            {"CARDINAL_MAIL_FROM": "cardinal@example.com"},
            "MAIL_SERVER and CARDINAL_MAIL_FROM belong together",
        ),
        ({"CARDINAL_MAIL_PASSWORD": "s3cret"}, "MAIL_USER and CARDINAL_MAIL_PASSWORD belong together"),
        ({"CARDINAL_MAIL_REPLIES": "a@example.com"}, "CARDINAL_MAIL_REPLIES would do nothing"),
        ({"CARDINAL_MAIL_REPLIES": "a+b@example.com"}, "CARDINAL_MAIL_REPLIES: "),
    ):
        with pytest.raises(ConfigError, match=named.replace("+", r"\+")):
            read(wrong, tmp_path)
    for address in ("mail:alice", "mail:a@b\nBcc: eve@c", "mail:Alice <alice@example.org>"):
        with pytest.raises(UnfitAddressError):
            tell(config, address=address)
    with pytest.raises(UnfitAddressError, match="CARDINAL_MAIL_SERVER"):
        tell(replace(config, mail_server=""))


def test_a_server_that_answers_drop_by_drop_holds_up_nothing(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_S", 0.5)
    ends = Event()

    def drip(server: socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            while not ends.wait(0.1):
                connection.sendall(b"2")

    with create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=drip, args=(server,))
        thread.start()
        assert not tell(replace(config, mail_server=f"smtp://127.0.0.1:{server.getsockname()[1]}"))
        ends.set()
        thread.join(60)


def replied(config: Config, raw: bytes, now: datetime = NOW) -> PersonReply | str:
    """Return the reply in a mail, or why it is none."""
    try:
        return reading.read(config, PEOPLE, raw, now)
    except UnreadMessageError as error:
        return error.because


def test_a_reply_is_the_persons_own_words(config: Config, office: PostOffice) -> None:
    tell(config)
    reply = replied(config, office.reply("Cents, please.\r\n-- \nAlice"))
    assert isinstance(reply, PersonReply)
    assert (reply.login, reply.topic, reply.words, reply.refusal) == ("alice", "r1-q1", "Cents, please.", "")
    shouted = office.mails[0]["Reply-To"].upper()
    assert replied(config, office.reply("Cents, please.", To=shouted)) == reply  # the same mail again


QUOTES = [
    "",
    "Am Mo., 30. Nov. 2026 um 10:00 Uhr schrieb Cardinal <cardinal@example.com>:",
    "Am Mo., 30. Nov. 2026 um 10:00 Uhr schrieb Cardinal <\ncardinal@example.com>:",
    "Le lun. 30 nov. 2026, Cardinal <cardinal+r1-q1.1.a@example.com> a écrit :",
    "________________________________\nVon: Cardinal <cardinal@example.com>\nGesendet: Montag",
    "-----Ursprüngliche Nachricht-----\nVon: Cardinal <cardinal@example.com>",
    "From: Cardinal\nSent: Monday\nTo: Alice",
    "*Von:* Cardinal\n*Gesendet:* Montag",
    "Am 30.11.26 um 10:00 schrieb Cardinal:",
    "Begin forwarded message:\n\n> From: Carol",
]


@pytest.mark.parametrize("quote", QUOTES)
def test_what_mail_programs_add_is_no_answer(config: Config, quote: str) -> None:
    mail = EmailMessage()
    for words in ("Cents", "", "Cents\n\nBest,\nAlice"):
        mail.set_content(f"{words}\n\n{quote}\n\n{sending.MARKER}\n\nReply with /cardinal approve\n")
        assert reading.own_text(mail, config) == words


def test_a_mail_of_html_alone_is_read_as_text(config: Config) -> None:
    mail = EmailMessage()
    quote = '<blockquote class="x">Reply <p>/cardinal approve</p></blockquote>'
    mail.set_content(
        f"{HTML}<script>alert(1)</script><p>Cents &amp;\n no <b>euros</b></p><div>Now</div>{quote}", "html"
    )
    assert [line for line in reading.own_text(mail, config).split("\n") if line] == [
        "Cents & no euros",
        "Now",
    ]


ROBOTS = [
    {"Auto_Submitted": "auto-replied"},
    {"Auto_Submitted": "auto-generated (rejected)"},
    {"Precedence": "bulk"},
    {"Return_Path": "<>"},
    {"List_Id": "<people.example.org>"},
    {"X_Autoreply": "yes"},
    {"X_Mail_Autoreply": "yes"},
    {"X_Auto_Response_Suppress": "All"},
    {"X_Failed_Recipients": "bob@example.org"},
    {"Auto_Submitted": "no-idea"},
]


@pytest.mark.parametrize("headers", ROBOTS)
def test_a_program_gets_no_answer_so_that_no_two_answer_each_other(
    config: Config, office: PostOffice, headers: dict[str, str]
) -> None:
    tell(config)
    assert isinstance(replied(config, office.reply("I am away", None, **headers)), str)
    person = {"Autocrypt": "addr=alice@example.org", "Auto_Submitted": "no (a person)"}
    assert not isinstance(replied(config, office.reply("Cents", None, **person)), str)


def test_cardinals_own_mail_and_a_bounce_are_no_replies(config: Config, office: PostOffice) -> None:
    tell(config)
    own = office.mails[0]
    del own["To"]
    own["To"] = own["Reply-To"]
    assert not isinstance(replied(config, own.as_bytes()), PersonReply)
    bounce = f"To: {own['To']}\nContent-Type: multipart/report; boundary=b\n\n--b\n\nNo such user\n--b--\n"
    assert not isinstance(replied(config, bounce.encode()), PersonReply)


def test_a_mail_to_two_questions_answers_the_one_that_its_copy_went_to(
    config: Config, office: PostOffice
) -> None:
    more = replace(QUESTION, topic="r1-q2")
    for question in (QUESTION, more):
        tell(config, replace(NOTICE, items=(question,)))
    first, second = (mail["Reply-To"] for mail in office.mails)
    both = replied(config, office.reply("Cents", To=f"{first}, {second}"))
    assert isinstance(both, PersonReply)
    assert both.refusal == SEVERAL
    for header in ("Delivered_To", "X_Original_To", "Envelope_To"):
        copy = replied(config, office.reply("Cents", None, To=f"{first}, {second}", **{header: second}))
        assert isinstance(copy, PersonReply)
        assert (copy.topic, copy.words, copy.refusal) == ("r1-q2", "Cents", "")
    tell(config, replace(NOTICE, items=(QUESTION, more)))
    assert (office.mails[-1]["Reply-To"], sending.SEVERAL in text_of(office.mails[-1])) == (None, True)


def test_what_was_added_behind_the_words_on_their_way_is_no_answer(config: Config) -> None:
    mail = EmailMessage()
    mail.set_content("<p>Cents</p>", "html")
    mail.add_attachment("Scanned for viruses", disposition="inline")
    assert reading.own_text(mail, config) == "Cents"


def test_only_a_token_that_was_made_for_this_person_and_topic_counts(
    config: Config, office: PostOffice
) -> None:
    tell(config)
    made = office.mails[0]["Reply-To"]
    forged = (
        made.replace("r1-q1", "r1-q2"),  # of another question
        made.replace("r1-q1.", "r1-q1.9"),  # for longer
        made[:-30] + made[-29:],
        made.replace("@example.com", "@example.com.evil.org"),
        "cardinal+r1-q1.739000.aaaaaaaaaaaaaaaaaaaa@example.com",
        "cardinal@example.com",
    )
    for address in forged:
        assert "made for a person" in str(replied(config, office.reply("Cents", To=address)))
    keyed = replace(config, private_key=Secret("another"))
    assert not isinstance(replied(keyed, office.reply("Cents")), PersonReply)
    for people in (
        {"alice": Subscriber(address="mail:new@example.org"), "bob": PEOPLE["bob"]},
        {"alice": Subscriber(address=ADDRESS, channel=True)},
        {"mallory": Subscriber(address=ADDRESS)},
    ):
        with pytest.raises(UnreadMessageError):
            reading.read(config, people, office.reply("Cents"), NOW)


def test_what_is_not_taken_is_refused_with_a_sentence(config: Config, office: PostOffice) -> None:
    tell(config)
    with_file, picture = EmailMessage(), EmailMessage()
    for mail in (with_file, picture):
        mail["From"], mail["To"] = "alice@example.org", office.mails[0]["Reply-To"]
        mail.set_content("Cents")
    with_file.add_attachment(b"x", maintype="application", subtype="pdf", filename="a.pdf")
    picture.add_related(b"x", maintype="image", subtype="png", cid="<logo>")
    refused = {
        office.reply("Cents", From="bob@example.org"): FOREIGN,
        office.reply("Cents", From="alice@example.org, bob@example.org"): FOREIGN,
        office.reply("Cents", From="alice@example.org (Alice)"): "",
        office.reply("Cents") + b"x" * MAX_BYTES: TOO_LARGE,
        office.reply(""): EMPTY,
        with_file.as_bytes(): ATTACHED,
        picture.as_bytes(): "",
    }
    for raw, because in refused.items():
        reply = replied(config, raw)
        assert isinstance(reply, PersonReply), reply
        assert (reply.login, reply.refusal) == ("alice", because)
    late = replied(config, office.reply("Cents"), NOW + timedelta(days=31))
    assert isinstance(late, PersonReply)
    assert (late.refusal, late.words) == (OVER, "")


HOSTILE = [
    b"",
    b"\x00\xff" * 1_000,
    b"Content-Type: multipart/mixed; boundary=0"
    + b"".join(b"\n\n--%d\nContent-Type: multipart/mixed; boundary=%d" % (n, n + 1) for n in range(3_000)),
    b"Content-Type: message/rfc822\n\n" * 5_000,
    b"Content-Type: text/plain; charset=nobody\nContent-Transfer-Encoding: base64\n\n=\xff",
    *(b"Content-Type: text/plain; charset=%s\n\nCents" % it for it in (b"idna", b'"a\x00b"', b"undefined")),
    b"Content-Type: text/plain; charset*=a; charset*0*=b\n\nCents",
    b"From: " + b"<(" * 4_000 + b"\nContent-Type: text/html\n\n" + b"<!--" * 20_000,
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_a_broken_mail_breaks_nothing(config: Config, office: PostOffice, hostile: bytes) -> None:
    tell(config)
    assert isinstance(replied(config, hostile), str)
    head = f"To: {office.mails[0]['Reply-To']}\nFrom: alice@example.org\n".encode()
    reply = replied(config, head + hostile)
    assert isinstance(reply, str) or reply.refusal or reply.words
