"""The grid of an eval with 5,000 runs: filters without a script, addresses of cases, and cells that open pages."""

from __future__ import annotations

from soundstage.report import row_id


def shown(page):
    return page.locator("tr.case:visible")


def test_five_thousand_runs_are_shown_and_filtered_without_a_script(visit):
    page = visit("grid")
    assert page.locator(".runs a").count() == 5000
    assert shown(page).count() == 200
    page.get_by_label("failed").check()
    assert shown(page).count() == 20
    names = {text.split("\n")[0] for text in shown(page).locator("th").all_inner_texts()}
    assert names == {f"case {number}" for number in range(0, 200, 10)}
    page.get_by_label("all").check()
    assert shown(page).count() == 200


def test_a_case_that_failed_is_reached_from_the_list_and_by_its_address(visit):
    page = visit("grid")
    page.get_by_text("Cases that did not pass").click()
    page.get_by_role("link", name="case 150", exact=True).click()
    assert page.url.endswith(f"#{row_id('case 150')}")
    assert page.locator(":target th").inner_text().startswith("case 150")
    assert page.locator(":target").bounding_box()["y"] < page.viewport_size["height"]


def test_a_cell_opens_the_page_of_its_run_and_says_why_it_failed(visit, pages):
    page = visit("grid")
    cell = page.locator(f"#{row_id('case 0')} .runs a").first
    assert cell.get_attribute("title") == "failed: it <b>rained</b>"
    cell.click()
    assert page.url == pages["team"]
