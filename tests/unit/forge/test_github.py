"""GitHub's answers, one by one: what is tried again, and what each refusal is called."""

from collections.abc import Iterator

import pytest

from github_server import TOKEN, GitHubServer, github
from redgreenrefactor.errors import ForgeError
from redgreenrefactor.forge.address import Address
from redgreenrefactor.forge.github import LONGEST_BODY, GitHub, token_of
from redgreenrefactor.model.review_task import Draft

DRAFT = Draft("Add a calculator", "It adds.", "tdd/calc", "main")


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with github() as serving:
        yield serving


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def forge(server: GitHubServer, waited: list[float]) -> GitHub:
    return GitHub(Address("", "acme", "calc", server.url), TOKEN, pause=waited.append, timeout=0.5)


def refused(forge: GitHub, server: GitHubServer, answer: str) -> ForgeError:
    server.when = {"GET": answer}
    with pytest.raises(ForgeError) as raised:
        forge.find("tdd/calc")
    assert TOKEN not in f"{raised.value.message}{raised.value.hint}{raised.value!r}"
    assert raised.value.exit_code == 3
    assert raised.value.hint
    return raised.value


def test_requests_name_owner_branch_token_and_program(forge: GitHub, server: GitHubServer) -> None:
    forge.find("tdd/calc")
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/repos/acme/calc/pulls")
    assert asked.query["head"] == ["acme:tdd/calc"]
    assert asked.query["state"] == ["open"]
    assert (asked.token, asked.agent) == (f"Bearer {TOKEN}", "redgreenrefactor")


def test_an_issue_is_its_title_and_its_text(forge: GitHub, server: GitHubServer) -> None:
    server.issues = {7: {"title": "Greet people", "body": "By name."}, 8: {"title": "Greet", "body": None}}
    assert forge.issue(7) == "Greet people\n\nBy name."
    assert forge.issue(8) == "Greet"


def test_what_is_no_issue_is_named(forge: GitHub, server: GitHubServer) -> None:
    server.issues = {7: {"title": "Greet", "body": "", "pull_request": {"url": "…"}}, 8: {"body": "By name."}}
    for number, kind, words in (
        (7, "GitHubNotFound", "7 is a pull request of acme/calc, not an issue"),
        (8, "GitHubUnexpected", "an issue without 'title'"),
        (9, "GitHubNotFound", "there is no issue 9 in acme/calc, or GITHUB_TOKEN may not see it"),
    ):
        with pytest.raises(ForgeError) as raised:
            forge.issue(number)
        assert (raised.value.type, words in raised.value.message) == (kind, True)


def test_an_issue_of_a_refused_token_says_so(forge: GitHub, server: GitHubServer) -> None:
    server.when = {"GET": "401"}
    with pytest.raises(ForgeError, match="does not accept GITHUB_TOKEN"):
        forge.issue(7)


def test_a_refused_token_is_named(forge: GitHub, server: GitHubServer) -> None:
    error = refused(forge, server, "401")
    assert error.type == "GitHubAuth"
    assert error.message == "GitHub does not accept GITHUB_TOKEN: Bad credentials"


def test_a_token_that_may_not_is_told_from_one_that_is_wrong(forge: GitHub, server: GitHubServer) -> None:
    error = refused(forge, server, "403")
    assert error.type == "GitHubForbidden"
    assert "acme/calc" in error.message


def test_a_rate_limit_says_until_when(forge: GitHub, server: GitHubServer, waited: list[float]) -> None:
    error = refused(forge, server, "limit")
    assert error.type == "GitHubRateLimited"
    assert "until 2030-01-01 00:00:00 UTC" in error.message
    assert waited == []


@pytest.mark.parametrize(("answer", "when"), [("secondary", "in 60 seconds"), ("429", "for now: Too many")])
def test_the_other_limits_are_recognised(forge: GitHub, server: GitHubServer, answer: str, when: str) -> None:
    error = refused(forge, server, answer)
    assert error.type == "GitHubRateLimited"
    assert when in error.message


def test_an_unknown_repository_is_named(forge: GitHub, server: GitHubServer) -> None:
    error = refused(forge, server, "404")
    assert error.type == "GitHubNotFound"
    assert "acme/calc" in error.message


def test_a_rejected_request_comes_with_githubs_words(forge: GitHub, server: GitHubServer) -> None:
    error = refused(forge, server, "422")
    assert error.type == "GitHubRejected"
    assert error.message.endswith("Validation Failed; No commits between main and x")


@pytest.mark.parametrize("answer", ["418", "garbage"])
def test_an_answer_that_is_not_understood_is_no_traceback(
    forge: GitHub, server: GitHubServer, answer: str
) -> None:
    assert refused(forge, server, answer).type == "GitHubUnexpected"


@pytest.mark.parametrize("answer", ["html", "garbage"])
def test_a_page_of_somebody_else_is_understood_nowhere(
    forge: GitHub, server: GitHubServer, answer: str
) -> None:
    server.when = dict.fromkeys(("GET", "POST", "PATCH"), answer)
    for asked in (
        forge.may_push,
        lambda: forge.find("x"),
        lambda: forge.create(DRAFT),
        lambda: forge.update(1, "a", "b"),
    ):
        with pytest.raises(ForgeError) as raised:
            asked()
        assert (raised.value.type, raised.value.exit_code) == ("GitHubUnexpected", 3)


def test_a_server_that_sends_us_elsewhere_does_not_send_the_token_along(
    forge: GitHub, server: GitHubServer
) -> None:
    with github() as other:
        server.when = {"GET": other.url}
        with pytest.raises(ForgeError) as raised:
            forge.find("tdd/calc")
        assert raised.value.type == "GitHubAuth"
        assert [asked.token for asked in other.asked] == [""]


@pytest.mark.parametrize("answer", ["503", "500", "drop", "cut"])
def test_a_server_that_fails_for_a_moment_is_asked_again(
    forge: GitHub, server: GitHubServer, waited: list[float], answer: str
) -> None:
    server.next = [answer, answer]
    assert forge.find("tdd/calc") is None
    assert waited == [0.5, 1.0]
    assert len(server.asked) == 3


@pytest.mark.parametrize("answer", ["503", "drop"])
def test_a_server_that_goes_on_failing_is_out_of_reach(
    forge: GitHub, server: GitHubServer, waited: list[float], answer: str
) -> None:
    error = refused(forge, server, answer)
    assert error.type == "GitHubUnreachable"
    assert server.url in error.message
    assert waited == [0.5, 1.0, 2.0]


def test_a_slow_server_is_not_waited_for_for_ever(forge: GitHub, server: GitHubServer) -> None:
    server.next = [0.8]
    assert forge.find("tdd/calc") is None
    assert len(server.asked) == 2


def test_nobody_listening_is_out_of_reach(waited: list[float]) -> None:
    forge = GitHub(Address("", "acme", "calc", "http://127.0.0.1:9"), TOKEN, pause=waited.append)
    with pytest.raises(ForgeError) as raised:
        forge.find("x")
    assert raised.value.type == "GitHubUnreachable"


@pytest.mark.parametrize("answer", ["cut", 0.8])
def test_a_pull_request_whose_answer_was_lost_is_not_opened_again(
    forge: GitHub, server: GitHubServer, answer: str | float
) -> None:
    server.next = [answer]
    assert forge.create(DRAFT).number == 1
    assert len(server.pulls) == 1
    assert [asked.method for asked in server.asked] == ["POST", "GET"]


@pytest.mark.parametrize("answer", ["drop", "503"])
def test_one_that_was_not_opened_is_tried_again(forge: GitHub, server: GitHubServer, answer: str) -> None:
    server.next = [answer]
    assert forge.create(DRAFT).number == 1
    assert [asked.method for asked in server.asked] == ["POST", "GET", "POST"]


def test_one_that_cannot_be_opened_is_given_up(
    forge: GitHub, server: GitHubServer, waited: list[float]
) -> None:
    server.when = {"POST": "503"}
    with pytest.raises(ForgeError) as raised:
        forge.create(DRAFT)
    assert raised.value.type == "GitHubUnreachable"
    assert server.pulls == []
    assert waited == [0.5, 1.0, 2.0]


def test_a_refused_token_opens_nothing_and_is_not_tried_again(forge: GitHub, server: GitHubServer) -> None:
    server.token = "another"
    with pytest.raises(ForgeError) as raised:
        forge.create(DRAFT)
    assert raised.value.type == "GitHubAuth"
    assert len(server.asked) == 1


def test_many_pull_requests_come_page_by_page(forge: GitHub, server: GitHubServer) -> None:
    forge.create(DRAFT)
    server.close(1)
    server.pulls += [{**server.pulls[0], "number": number} for number in range(2, 102)]
    server.asked.clear()
    assert [pull.number for pull in forge.list("tdd/calc")] == list(range(101, 0, -1))
    assert len(server.asked) == 2


def test_others_pull_requests_are_left_out_where_the_filter_is_ignored(
    forge: GitHub, server: GitHubServer
) -> None:
    forge.create(DRAFT)
    server.pulls[0]["head"]["label"] = "acme:tdd/other"  # the server finds it, though it is another branch's
    assert forge.find("tdd/other") is None


def test_texts_beyond_what_github_takes_are_cut(forge: GitHub, server: GitHubServer) -> None:
    forge.create(Draft("t" * 300, "b" * 70_000, "tdd/calc", "main"))
    assert len(server.pulls[0]["title"]) == 256
    assert len(server.pulls[0]["body"]) == LONGEST_BODY
    assert server.pulls[0]["body"].endswith("…")


def test_a_token_that_may_only_read_cannot_push(forge: GitHub, server: GitHubServer) -> None:
    server.push = False
    assert not forge.may_push()


@pytest.mark.parametrize("value", ["", "  ", "two words", "schlüssel", "line\nbreak"])
def test_a_token_that_cannot_be_sent_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(ForgeError) as raised:
        token_of({"GITHUB_TOKEN": value})
    assert raised.value.type == "GitHubAuth"
    assert not value.strip() or value not in raised.value.message


def test_a_token_is_taken_without_the_space_around_it() -> None:
    assert token_of({"GITHUB_TOKEN": f" {TOKEN}\n"}) == TOKEN


def test_the_token_is_not_part_of_what_a_forge_looks_like(forge: GitHub) -> None:
    assert TOKEN not in repr(forge)


def test_secrets_in_what_a_reviewer_says_are_not_published(forge: GitHub, server: GitHubServer) -> None:
    secret = "ghp_AAAABBBBCCCCDDDDEEEEFFFF"
    made = forge.create(Draft(f"Add {secret}", f"Use {secret}.", "tdd/calc", "main"))
    forge.update(made.number, f"Add {secret}", f"Use {secret}.")

    sent = [str(asked.body) for asked in server.asked if asked.method in ("POST", "PATCH")]
    assert [secret in body for body in sent] == [False, False]
    assert "Add [masked]" in sent[0]
