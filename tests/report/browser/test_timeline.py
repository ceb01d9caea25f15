"""The timeline in the browser."""

from __future__ import annotations

import pytest

from soundstage.report._figures import duration_text
from soundstage.report._timeline import timeline_of
from soundstage.trace import build_trace

LANE = "document.activeElement.closest('.lane').querySelector('.lane-name').textContent"
TARGET = "document.activeElement.getAttribute('href')"

# How many tool bars lie in the window of the timeline.
IN_SIGHT = """() => {
  const view = document.querySelector(".lanes").getBoundingClientRect();
  return [...document.querySelectorAll(".lanes a.tool")].filter((bar) => {
    const box = bar.getBoundingClientRect();
    return box.right > view.left + 150 && box.left < view.right;
  }).length;
}"""


def test_every_step_and_tool_is_a_bar_in_the_lane_of_its_agent(visit, team):
    page = visit("team")
    wanted = timeline_of(build_trace(team))
    assert page.locator(".lane-name").all_text_contents()[1:] == [lane.name for lane in wanted.lanes]
    page.get_by_role("button", name="Order").click()
    assert page.locator("a.bar").count() == len(wanted.bars)
    assert page.locator("a.bar.tool").count() == 3
    assert page.locator("a.mark").count() == len(wanted.marks)


def test_a_bar_is_as_long_as_its_step(visit, team):
    page = visit("team")
    trace = build_trace(team)
    track = page.locator(".track").nth(1).bounding_box()
    for step in trace.steps:
        bar = page.locator(f"a.bar.step[href='#e{step.position}']")
        if step.duration:
            share = bar.bounding_box()["width"] / track["width"]
            assert share == pytest.approx(step.duration / trace.duration, abs=0.005)


def test_a_click_on_a_bar_opens_its_event(visit):
    page = visit("team")
    bar = page.locator("a.bar.tool").first
    target = bar.get_attribute("href")
    bar.click()
    page.locator(f"{target}-detail").wait_for()
    page.locator(target).click()
    assert page.locator(f"{target}-detail").count() == 0
    bar.click()
    page.locator(f"{target}-detail").wait_for()


def test_a_bar_says_what_it_is(visit):
    page = visit("team")
    label = page.locator("a.bar.step").nth(0).get_attribute("aria-label")
    assert "ModelRequested" in label
    assert "first token after 300 ms" in label
    page.locator("a.bar.tool", has_text="run_tests").hover()
    assert page.locator(".readout").text_content().endswith("tool run_tests; took 1.8 s")


def test_arrow_keys_move_along_a_lane_and_between_lanes(visit):
    page = visit("team")
    page.locator(".lanes a[tabindex='0']").focus()
    assert page.evaluate(LANE) == "console"
    page.keyboard.press("ArrowUp")
    assert page.evaluate(LANE) == "reviewer"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    first = page.evaluate(TARGET)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(LANE) == "coder"
    assert page.evaluate(TARGET) != first
    assert page.locator(".lanes a[tabindex='0']").count() == 1
    for _ in range(9):
        page.keyboard.press("ArrowDown")
    assert page.evaluate(LANE) == "network"


def test_a_run_in_which_no_time_passes_is_shown_by_order(visit):
    page = visit("several", "#s2")
    section = page.locator("#s2")
    assert section.get_by_role("button", name="Time").is_disabled()
    assert section.get_by_role("button", name="Order").get_attribute("aria-pressed") == "true"


def test_zooming_shows_what_was_too_close_together(visit):
    page = visit("many")
    zoom_in, zoom_out = page.locator("[data-zoom='2']"), page.locator("[data-zoom='0.5']")
    before = page.locator(".lanes a").count()
    for _ in range(5):
        zoom_in.evaluate("(button) => button.click()")
    assert page.locator(".lanes").evaluate("(view) => view.scrollWidth > 20 * view.clientWidth")
    assert page.evaluate(IN_SIGHT) > 50
    assert page.locator(".lanes a").count() < before
    for _ in range(5):
        zoom_out.evaluate("(button) => button.click()")
    assert zoom_out.is_disabled()
    assert page.locator(".lanes a").count() == before


def test_the_page_writes_durations_as_the_terminal_does(visit):
    page = visit("empty")
    for seconds in (0, 12e-6, 0.00124, 0.0095, 0.25, 0.9994, 1.256, 59.5, 60, 125.4, 3600, 3725, 90000):
        assert page.evaluate(f"duration({seconds})") == duration_text(seconds)
