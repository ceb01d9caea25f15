"""The list of events: open, filter, move, deep links."""

from __future__ import annotations

import json

FOCUSED = "document.activeElement.id || document.activeElement.type"


def shown(page):
    return [int(text) for text in page.locator(".line > .position").all_text_contents()]


def line(page, position):
    return page.locator(f"#e{position}")


def positions(team, kind):
    return [record.position for record in team if type(record.event).__name__ == kind]


def cause(team, position):
    return next(record.cause for record in team if record.position == position)


def status(page):
    return page.locator("section.run:visible [role=status]").text_content()


def test_every_event_but_the_chunks_is_a_row_in_the_order_of_the_journal(visit, team):
    page = visit("team")
    chunks = positions(team, "ModelChunked")
    assert shown(page) == [record.position for record in team if record.position not in chunks]
    assert status(page) == f"{len(team) - len(chunks)} events of {len(team)}"
    page.get_by_label("chunks (").check()
    assert len(shown(page)) == len(team)


def test_a_request_shows_its_new_messages_and_folds_the_earlier_ones(visit, team):
    page = visit("team")
    request = positions(team, "ModelRequested")[4]
    line(page, request).click()
    assert line(page, request).get_attribute("aria-expanded") == "true"
    detail = page.locator(f"#e{request}-detail")
    assert detail.locator(".messages:visible .role").all_text_contents() == ["assistant", "tool", "tool"]
    assert "FAILED tests/test_blanks.py" in detail.inner_text()
    assert "Keep changes small." not in detail.inner_text()
    detail.get_by_text("2 earlier messages").click()
    detail.get_by_text("Keep changes small.").wait_for()
    line(page, request).click()
    assert line(page, request).get_attribute("aria-expanded") == "false"
    assert detail.count() == 0


def test_a_reply_shows_thinking_text_calls_usage_and_its_chunks(visit, team):
    page = visit("team")
    reply = positions(team, "ModelResponded")[2]
    line(page, reply).click()
    detail = page.locator(f"#e{reply}-detail")
    text = detail.inner_text()
    parts = ("The test fails in parse()", "I look at the parser", "read_file", "src/settings.py", "tokens in")
    assert [part for part in parts if part not in text] == []
    detail.locator("summary", has_text="chunks").click()
    pieces = detail.locator(".chunks tbody tr")
    pieces.first.wait_for()
    chunks = [chunk for chunk in positions(team, "ModelChunked") if cause(team, chunk) == cause(team, reply)]
    assert pieces.count() == len(chunks) > 3


def test_links_lead_from_an_event_to_its_cause_and_back(visit, team):
    page = visit("team")
    reply = positions(team, "ModelResponded")[2]
    request = cause(team, reply)
    line(page, reply).click()
    page.locator(f"#e{reply}-detail").get_by_role("link", name=f"#{request}", exact=True).click()
    page.locator(f"#e{request}-detail").wait_for()
    back = page.locator(f"#e{request}-detail").get_by_role("link", name=f"#{reply}", exact=True)
    assert back.get_attribute("href") == f"#e{reply}"


def test_the_raw_record_is_the_line_of_the_journal(visit, lines):
    page = visit("team")
    assert page.evaluate("current.run.rows.map((row) => current.run.raw(row))") == lines
    pretty = page.evaluate("current.run.rows.map((row) => prettyJson(current.run.raw(row)))")
    assert [json.loads(text) for text in pretty] == [json.loads(text) for text in lines]


def test_numbers_are_shown_exactly(visit):
    page = visit("precise", "#e1")
    page.get_by_text("Raw record").click()
    raw = page.locator(".raw .text")
    raw.wait_for()
    assert '"id": 1234567890123456789' in raw.text_content()
    assert '"empty": {},' in raw.text_content()
    assert "1234567890123456789" in page.locator(".fields").first.text_content()


def test_copying_a_record_says_so(visit):
    page = visit("precise", "#e1", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_text("Raw record").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.locator("#said").text_content() == "Copied"
    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["event"]["data"]["empty"] == {}


def test_events_are_filtered_by_source_type_and_text(visit, team):
    page = visit("team")
    page.get_by_role("checkbox", name="hooks").uncheck()
    assert positions(team, "HookFired")[0] not in shown(page)
    page.get_by_label("Type").select_option(label="FileChanged (1)")
    assert shown(page) == positions(team, "FileChanged")
    assert status(page) == f"1 event of {len(team)}"
    page.get_by_role("button", name="Clear filters").click()
    assert page.get_by_role("checkbox", name="hooks").is_checked()
    page.get_by_label("Search").fill("TELEMETRY example")
    assert shown(page) == positions(team, "EgressTried")
    page.get_by_label("Search").fill('"example telemetry"')
    assert shown(page) == []
    assert "No event passes these filters." in page.inner_text("main")
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="Uncheck all sources").click()
    assert shown(page) == []


def test_a_text_is_found_where_it_was_first_said_and_in_what_the_line_does_not_show(visit, team):
    page = visit("team")
    page.get_by_label("Search").fill("keep changes small")
    said = [record.position for record in team if "Keep changes small" in repr(record.event)]
    assert shown(page) == said[:1]
    assert len(said) == 4
    page.get_by_label("Search").fill("overloaded_error busy")
    assert shown(page) == []


def test_quotes_and_line_breaks_are_found_as_they_are_read(visit):
    page = visit("precise")
    for text in ('"say "', "hi", "1.5", "1234567890123456789"):
        page.get_by_label("Search").fill(text)
        assert shown(page) == [1], text


def test_the_type_of_chunks_shows_chunks(visit, team):
    page = visit("team")
    chunks = positions(team, "ModelChunked")
    page.get_by_label("Type").select_option(label=f"ModelChunked ({len(chunks)})")
    assert shown(page) == chunks


def test_the_page_is_usable_with_keys_alone(visit):
    page = visit("team")
    page.keyboard.press("j")
    assert page.evaluate(FOCUSED) == "e1"
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    assert page.evaluate(FOCUSED) == "e2"
    page.keyboard.press("Enter")
    assert line(page, 2).get_attribute("aria-expanded") == "true"
    assert page.evaluate("location.hash") == "#e2"
    page.keyboard.press("Enter")
    assert line(page, 2).get_attribute("aria-expanded") == "false"
    page.keyboard.press("End")
    last = page.evaluate(FOCUSED)
    page.keyboard.press("j")
    assert page.evaluate(FOCUSED) == last != "e2"


def test_keys_reach_the_search_and_the_list_of_keys(visit):
    page = visit("team")
    page.keyboard.press("/")
    assert page.evaluate(FOCUSED) == "s1-search"
    page.keyboard.type("jk/")
    assert page.get_by_label("Search").input_value() == "jk/"
    page.keyboard.press("Escape")
    assert page.get_by_label("Search").input_value() == ""
    page.keyboard.press("k")
    assert page.evaluate(FOCUSED) == "e1"
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0


def test_only_one_row_and_one_bar_are_stops_for_the_tab_key(visit):
    page = visit("team")
    assert page.locator(".line[tabindex='0']").count() == 1
    assert page.locator(".lanes a[tabindex='0']").count() == 1


def test_a_deep_link_opens_its_event(visit, team):
    egress = positions(team, "EgressTried")[0]
    page = visit("team", f"#e{egress}")
    assert line(page, egress).get_attribute("aria-expanded") == "true"
    assert page.evaluate(FOCUSED) == f"e{egress}"


def test_a_deep_link_to_a_chunk_and_into_another_section_opens_it(visit, team):
    chunk = positions(team, "ModelChunked")[0]
    page = visit("several", f"#e{chunk}")
    assert line(page, chunk).is_visible()
    page.evaluate("location.hash = '#s2e7'")
    page.locator("#s2e7-detail").wait_for()
    assert page.locator("#s1").is_hidden()
    assert "no such setting" in page.locator("#s2e7-detail").inner_text()


def test_a_link_to_what_is_not_there_does_no_harm(visit):
    page = visit("team")
    for fragment in ("#e99999", "#s9e1", "#%00", "#main", "#"):
        page.evaluate("(hash) => { location.hash = hash; follow(hash); }", fragment)
        assert len(shown(page)) > 10


def test_sections_are_shown_one_at_a_time(visit):
    page = visit("several")
    assert page.get_by_role("heading", level=2, name="Team").is_visible()
    page.get_by_role("link", name="Failing").click()
    page.get_by_role("heading", level=2, name="Failing").wait_for()
    assert page.locator("#s1").is_hidden()
    assert page.locator("nav [aria-current]").text_content() == "Failing"
    page.go_back()
    page.get_by_role("heading", level=2, name="Team").wait_for()


def test_an_empty_journal_makes_an_empty_list(visit):
    assert "0 events of 0" in visit("empty").inner_text("main")


def test_ten_thousand_events_make_few_elements_and_every_one_can_be_reached(visit):
    page = visit("many")
    assert status(page) == "10,000 events of 10,000"
    assert page.locator(".line").count() <= 500
    assert page.locator(".lanes a").count() < 3_000
    page.keyboard.press("j")
    page.keyboard.press("End")
    assert page.evaluate(FOCUSED) == "e10000"
    page.locator("#s1-search").fill('"counted to 1234"')
    assert status(page) == "4 events of 10,000"  # the result, and a request of each of three agents
    page.locator("#s1-search").fill("")
    page.evaluate("location.hash = '#e5001'")
    page.locator("#e5001-detail").wait_for()
    assert page.locator(".line").count() <= 1_500


def test_scrolling_fills_the_rows_that_come_into_the_window(visit):
    page = visit("many")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight / 2)")
    page.locator(".group:nth-child(50) .line").first.wait_for(state="attached")
    assert page.locator(".group:nth-child(80) .line").count() == 0
