"""Hostile texts stay texts."""

from __future__ import annotations

# Opens every event, every fold and every text that is cut.
OPEN_ALL = """() => {
  for (const line of document.querySelectorAll(".line")) line.click();
  let folds;
  do {
    folds = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folds) {
      fold.open = true;
      fold.dispatchEvent(new Event("toggle"));
    }
  } while (folds.length);
  for (const more of document.querySelectorAll("button.more")) more.click();
}"""

# What the texts of a journal must never become.
FOUND = """() => ({
  pwned: window.pwned ?? null,
  elements: document.querySelectorAll("img, iframe, object, embed, svg, b, i, u").length,
  scripts: document.scripts.length,
  handlers: [...document.querySelectorAll("*")].filter((node) =>
    node.getAttributeNames().some((name) => name.startsWith("on"))).length,
  links: [...document.links].filter((link) => !link.getAttribute("href").startsWith("#")).length,
})"""
HARMLESS = {"pwned": None, "elements": 0, "scripts": 2, "handlers": 0, "links": 0}
HOSTILE = ("<script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 3'>", "{{ 7 * 7 }}")


def test_hostile_texts_are_shown_and_do_nothing(visit):
    page = visit("hostile")
    page.evaluate(OPEN_ALL)
    assert page.locator(".detail .raw").count() > 50
    assert page.evaluate(FOUND) == HARMLESS
    text = page.inner_text("main")
    for part in HOSTILE:
        assert part in text
    assert page.inner_text("h2 >> nth=0") == "<b>hostile</b>"


def test_hostile_texts_do_nothing_in_filters_and_links(visit):
    page = visit("hostile", "#e1<script>window.pwned = 1</script>")
    for text in (*HOSTILE, "</script>", "a" * 5000, "\\", "(", "__proto__"):
        page.get_by_label("Search").fill(text)
    page.evaluate("location.hash = '#e1\"><img src=x onerror=window.pwned=1>'")
    assert page.evaluate(FOUND) == HARMLESS


def test_the_browser_itself_refuses_to_turn_text_into_html(browser, pages):
    refused = """() => {
      try { document.body.innerHTML = "<p>x</p>"; return "allowed"; } catch (error) { return error.name; }
    }"""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(pages["team"])
        assert page.evaluate(refused) == "TypeError"
    finally:
        context.close()


def test_without_scripts_the_head_of_the_page_is_there_and_says_why_the_rest_is_not(visit):
    page = visit("team", java_script_enabled=False)
    text = page.inner_text("body")
    for part in ("Settings team", "Model requests", "need JavaScript"):
        assert part in text
    assert page.locator(".filters").is_hidden()
