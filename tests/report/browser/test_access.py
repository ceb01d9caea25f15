"""For everybody: keyboard, screen reader, narrow windows, both themes, less motion."""

from __future__ import annotations

import re

import pytest

OPEN_ALL = "document.querySelectorAll('.line').forEach((line) => line.click())"

# The accessible name, as far as the page makes use of the rules: label, aria, then text.
NAMELESS = """() => [...document.querySelectorAll("button, a, input, select, dialog, section, nav, [role]")]
  .filter((node) => node.checkVisibility() || node.tagName === "DIALOG")
  .filter((node) => !["list", "status"].includes(node.getAttribute("role")))
  .filter((node) => {
    const by = node.getAttribute("aria-labelledby");
    const name = node.getAttribute("aria-label") || (by && document.getElementById(by)?.textContent)
      || node.labels?.[0]?.textContent || node.textContent;
    return !name?.trim();
  }).map((node) => node.outerHTML.slice(0, 200))"""

# Kinds of text whose contrast with what is behind them is below 4.5 anywhere.
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const backdrop = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const found = new Map();
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.disabled || node.closest(".visually-hidden")) continue;
    const value = ratio(rgb(getComputedStyle(node).color), backdrop(node));
    const key = `${node.tagName}.${node.className}`;
    found.set(key, Math.min(found.get(key) ?? 99, value));
  }
  return [...found.size ? found : [["nothing was measured", 0]]].filter(([, value]) => value < 4.5);
}"""

# The colour of the page, then those of the sources.
HUES = """() => {
  const colours = [...Array(8).keys()].map((hue) => {
    const probe = document.createElement("span");
    probe.dataset.hue = hue;
    document.body.append(probe);
    probe.style.color = "var(--hue)";
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  });
  return [getComputedStyle(document.documentElement).backgroundColor, ...colours];
}"""

# Texts of opened events that stick out of their place or the window, so that nobody could read their ends.
CUT_OFF = """() => [...document.querySelectorAll(".detail *, h2, .state, .note, .figures *")]
  .filter((node) => node.checkVisibility() && !node.matches(".visually-hidden"))
  .filter((node) => node.getBoundingClientRect().right > innerWidth
    || (!node.matches(".screen") && node.clientWidth && node.scrollWidth > node.clientWidth + 1))
  .map((node) => `${node.tagName}.${node.className} ${node.scrollWidth} > ${node.clientWidth}`)"""


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def test_everything_that_can_be_used_has_a_name(visit):
    page = visit("several")
    page.evaluate(OPEN_ALL)
    assert page.evaluate(NAMELESS) == []


def test_no_two_elements_share_an_id_and_every_reference_has_its_target(visit):
    page = visit("several")
    page.get_by_role("link", name="Failing").click()
    page.get_by_role("heading", level=2, name="Failing").wait_for()
    page.evaluate(OPEN_ALL)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    wanted = page.evaluate(
        """["aria-controls", "aria-labelledby", "for"].flatMap((name) =>
           [...document.querySelectorAll(`[${name}]`)].map((node) => node.getAttribute(name)))"""
    )
    assert set(wanted) <= set(ids)


def test_headings_and_landmarks_give_the_page_its_outline(visit):
    page = visit("several")
    levels = page.evaluate(
        """[...document.querySelectorAll("h1, h2, h3, h4")].filter((node) => node.checkVisibility())
           .map((node) => Number(node.tagName[1]))"""
    )
    assert levels == [1, 2, 3, 3, 3]
    for role in ("banner", "navigation", "main", "contentinfo", "search"):
        assert page.get_by_role(role).count() == 1, role
    assert page.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["team", "several"])
def test_texts_are_readable_in_both_themes(visit, theme, name):
    page = visit(name, color_scheme=theme, viewport={"width": 1280, "height": 800})
    page.evaluate(OPEN_ALL)
    assert page.evaluate(CONTRASTS) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_of_sources_stand_out_from_the_page(visit, theme):
    page = visit("team", color_scheme=theme)
    paper, *hues = (luminance(colour) for colour in page.evaluate(HUES))
    ratios = [(max(hue, paper) + 0.05) / (min(hue, paper) + 0.05) for hue in hues]
    assert min(ratios) >= 3
    assert len(set(hues)) == 8


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system_until_somebody_chooses(visit, theme):
    page = visit("team", color_scheme=theme)
    background = "getComputedStyle(document.documentElement).backgroundColor"
    before = page.evaluate(background)
    button = page.get_by_role("button", name="Dark theme")
    assert button.get_attribute("aria-pressed") == str(theme == "dark").lower()
    button.click()
    assert page.evaluate(background) != before
    # Chromium hands storage over to a reloaded page when it gets round to it; so what was stored is stored again first.
    stored = page.evaluate("JSON.stringify({...localStorage})")
    assert stored != "{}"
    page.add_init_script(
        f"Object.entries({stored}).forEach(([key, value]) => localStorage.setItem(key, value))"
    )
    page.reload()
    assert page.evaluate(background) != before
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(background) == before


@pytest.mark.parametrize("name", ["several", "hostile", "many"])
@pytest.mark.parametrize("width", [320, 390, 700, 1000])
def test_no_window_is_too_narrow(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 800})
    page.evaluate(
        """() => {
          for (const line of [...document.querySelectorAll(".line")].slice(0, 120)) line.click();
          for (const fold of document.querySelectorAll("details")) {
            fold.open = true;
            fold.dispatchEvent(new Event("toggle"));
          }
          for (const group of document.querySelectorAll(".group")) group.style.contentVisibility = "visible";
        }"""
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == []


def test_the_focus_can_be_seen(visit):
    page = visit("team")
    for key in ("Tab", "Tab", "Tab", "Tab", "j"):
        page.keyboard.press(key)
        name, style, width = page.evaluate(
            """() => {
              const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
              return [document.activeElement.tagName, outlineStyle, parseFloat(outlineWidth)];
            }"""
        )
        assert name != "BODY"
        assert style == "solid"
        assert width >= 2


def test_the_first_tab_stop_skips_the_head(visit):
    page = visit("team")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the trace"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_number_of_events_is_announced(visit):
    page = visit("team")
    assert page.get_by_role("status").count() == 1
    page.get_by_label("Search").fill("telemetry")
    assert page.get_by_role("status").text_content().startswith("1 event of")


def test_who_wants_less_motion_gets_none(visit):
    page = visit("team", reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.querySelector('.line')).transitionDuration") == "0s"


def test_printing_shows_every_row_and_no_controls(visit):
    page = visit("many")
    rows = """() => {
      window.dispatchEvent(new Event("beforeprint"));
      return document.querySelectorAll(".line").length;
    }"""
    assert page.evaluate(rows) == 10_000
    page = visit("team")
    page.emulate_media(media="print")
    assert page.locator(".filters").is_hidden()
    assert page.locator(".controls").is_hidden()
