"""The page as text: complete in itself, escaped, the same for the same input, without secrets."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import Noted, Record, Redactor, decode_record, encode_record
from soundstage.report import PageDifference, ReportError, Section, SectionVerdict, html_page, write_page
from soundstage.report._page import rendered


class Page(HTMLParser):
    """The parts of a page: elements with their attributes, and the texts of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        if tag in ("script", "style"):
            self.inside.append("")

    def handle_data(self, data):
        if self._open in ("script", "style"):
            self.inside[-1] += data

    def handle_endtag(self, tag):
        self._open = ""

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def tags(self) -> list[str]:
        return sorted(tag for tag, _ in self.elements)

    @property
    def attributes(self) -> set[str]:
        return {name for _, attributes in self.elements for name in attributes}


def noted(text: str) -> list[Record]:
    return [Record(position=1, time=0.0, run="r", source="s", cause=None, event=Noted(text=text))]


def policy(page: Page) -> dict[str, str]:
    found = next(meta for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    parts = [part.strip().partition(" ") for part in (found["content"] or "").split(";")]
    return {name: value for name, _, value in parts}


def test_nothing_on_the_page_has_an_address_outside_the_page(team, failing):
    page = Page(html_page([Section("a", team), Section("b", failing)]))
    names = {"src", "href", "srcset", "action", "data", "poster", "cite", "ping", "background"}
    addresses = [value or "" for _, found in page.elements for name, value in found.items() if name in names]
    outside = [address for address in addresses if not address.startswith("#")]
    assert [address.partition(",")[0] for address in outside] == ["data:image/svg+xml"]
    loading = {"img", "iframe", "object", "embed", "base", "video", "audio", "source", "frame"}
    assert not loading & set(page.tags)
    style, script = page.inside[0], page.inside[-1]
    assert not re.search(r"@import|url\(", style)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import)\s*\(", script)


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(team):
    page = Page(html_page([Section("a", team)]))
    rules = policy(page)
    assert rules["default-src"] == "'none'"
    for name, text in (("style-src", page.inside[0]), ("script-src", page.inside[-1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert not {name for name in page.attributes if name == "style" or name.startswith("on")}


def test_texts_of_a_journal_add_no_element_to_the_page(hostile):
    plain = Page(html_page([Section(title, noted("x"), outcome="o", note="n") for title in "ab"]))
    for text in ("<script>1</script>", "</script><script>", "</title><img src=x>", '" onclick="x'):
        page = Page(html_page([Section(text, noted(text), outcome=text, note=text)] * 2, title=text))
        assert page.tags == plain.tags
        assert page.attributes == plain.attributes
    html = html_page([Section("hostile", hostile)])
    assert len(Page(html).all("script")) == 2
    assert html.count("<script>") == 1


def test_equal_journals_give_equal_pages(team):
    read_again = [decode_record(encode_record(record)) for record in team]
    assert html_page([Section("a", team)]) == html_page([Section("a", read_again)])


def test_several_sections_get_a_table_of_contents_and_one_gets_none(team, failing):
    assert "<nav" not in html_page([Section("a", team)])
    page = Page(html_page([Section("a", team), Section("b", failing)]))
    assert [link["href"] for link in page.all("a")][1:3] == ["#s1", "#s2"]


def test_a_journal_without_events_is_a_page_too():
    assert "nothing yet" in html_page([Section("nothing yet", [])])


def test_a_page_without_sections_is_refused():
    with pytest.raises(ScriptError, match="at least one section"):
        html_page([])


def test_secrets_do_not_reach_the_file(tmp_path):
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqh\nkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    secret = 'hunter2 "<quoted>" & long'
    texts = [f"the key is {secret}", key, "sk-" + "a1" * 20, "x" * 190 + " " + "sk-" + "b2" * 20]
    records = [
        Record(position=number, time=0.0, run="r", source=secret, cause=None, event=event)
        for number, event in enumerate((Noted(text=text, data={text: [text]}) for text in texts), start=1)
    ]
    section = Section(f"title {secret}", records, outcome=f"outcome {secret}", note=f"note {secret}")
    path = write_page(tmp_path / "deep" / "page.html", [section], title=secret, redactor=Redactor([secret]))
    page = path.read_text("utf-8")
    assert "[redacted]" in page
    for part in ("hunter2", "MIIEvQ", "kiG9w0", "a1a1a1", "b2b2", "sk-b"):
        assert part not in page


def test_keys_of_providers_are_blanked_without_a_redactor(tmp_path):
    path = write_page(tmp_path / "page.html", [Section("a", noted("sk-" + "a1" * 20))])
    assert "a1a1a1" not in path.read_text("utf-8")


def test_a_page_that_cannot_be_written_says_where_and_why(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        write_page(tmp_path / "file" / "page.html", [Section("a", [])])


VERDICT = SectionVerdict(
    "divergence: prompt edited: messages[0] user, part 1, line 2: <b>",
    [
        PageDifference(
            "prompt edited",
            "messages[0] user, part 1, line 2",
            (" the weather", "-in Paris", "+in Rome"),
        ),
        PageDifference("other model or settings", "model", ("-'m'", "+'hunter-two-and-more'")),
    ],
    "request 1 of the run; nearest: exchange 1 of 2 (t.tape)",
    [
        ("accept", "soundstage tape accept t.tape"),
        ("record again", "pytest --soundstage-record=all 'test_it.py'"),
    ],
)


@pytest.mark.parametrize("name", ["index.html.jinja", "grid.html.jinja", "no-such.html.jinja"])
def test_a_page_that_cannot_be_made_is_a_report_error(name):
    with pytest.raises(ReportError, match=name):
        rendered(name, rows=[])


def test_the_verdict_on_a_replay_stands_above_the_failure_with_its_lines_position_and_commands():
    html = html_page(
        [Section("a test", noted("x"), note="a headline", failure="as pytest tells it", verdict=VERDICT)]
    )
    parts = [
        "divergence: prompt edited: messages[0] user, part 1, line 2: &lt;b&gt;</h3>",
        "<p>prompt edited: messages[0] user, part 1, line 2</p>",
        '<span class="near"> the weather</span>',
        '<span class="old">-in Paris</span>',
        '<span class="new">+in Rome</span>',
        "<p>other model or settings: model</p>",
        '<span class="old">-&#39;m&#39;</span>',
        "at: request 1 of the run; nearest: exchange 1 of 2 (t.tape)</p>",
        "<p>accept: <code>soundstage tape accept t.tape</code></p>",
        "<p>record again: <code>pytest --soundstage-record=all &#39;test_it.py&#39;</code></p>",
        "a headline",
        "as pytest tells it",
    ]
    places = [html.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert "divergence:" not in html_page([Section("a test", noted("x"))])


def test_a_secret_in_a_verdict_is_not_on_the_page(tmp_path):
    verdict = VERDICT._replace(
        position="exchange 1 (hunter-two-and-more)", steps=[("accept", "hunter-two-and-more")]
    )
    page = write_page(
        tmp_path / "page.html",
        [Section("a test", noted("x"), verdict=verdict._replace(line="hunter-two-and-more"))],
        redactor=Redactor(["hunter-two-and-more"]),
    )
    assert "hunter" not in page.read_text()
    assert "+in Rome" in page.read_text()


def test_of_many_differences_in_a_verdict_the_rest_is_counted():
    verdict = VERDICT._replace(found=[VERDICT.found[1]] * 203)
    assert "<p>and 3 more</p>" in html_page([Section("a test", noted("x"), verdict=verdict)])
