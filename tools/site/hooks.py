"""The site's own steps in MkDocs: pages that are made, links that leave `docs/`, pictures, files for agents.

`make docs` runs it. The pages in `docs/` stay as they are read in the repository; what a reader sees there as a comment
(`<!-- picture: ... -->`) or as a link to a file becomes a picture or a page here.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files
from site_agents import llms_full_txt, llms_txt
from site_api import api_nav, api_pages
from site_commands import command_nav, command_pages
from site_links import relinked, repository_pages, targets
from site_pictures import pictures_in, take, with_pictures

log = logging.getLogger("mkdocs.hooks.soundstage")
MADE: Final = {"reference/commands": command_nav, "reference/api": api_nav}
PROJECT: Final = {"CHANGELOG.md", "CONTRIBUTING.md", "bench/results.md"}  # in the navigation, linked or not
pages: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """Put the pages that are made into the navigation, where `mkdocs.yml` names their folder."""
    config.nav = [_filled(part) for part in config.nav]
    return config


def _filled(part: dict[str, Any]) -> dict[str, Any]:
    ((title, value),) = part.items()
    if isinstance(value, list):
        return {title: [_filled(one) for one in value]}
    return {title: MADE[value]() if value in MADE else value}


def on_files(files: Files, config: Any) -> Files:
    """Add what is made: references, files of the repository that documents link to, pictures."""
    pages.clear()
    texts = {file.src_uri: Path(file.abs_src_path).read_text() for file in files.documentation_pages()}
    asked = PROJECT.union(*(targets(text, f"docs/{place}") for place, text in texts.items()))
    made = {**command_pages(), **api_pages(), **repository_pages(asked)}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    pages.update(made, **{place: relinked(text, f"docs/{place}") for place, text in texts.items()})
    for name, picture in _pictures(set().union(*map(pictures_in, texts.values()))).items():
        files.append(File.generated(config, f"pictures/{name}.png", content=picture))
    return files


def _pictures(names: set[str]) -> dict[str, bytes]:
    try:
        return take(names) if names else {}
    except RuntimeError as error:
        log.warning(str(error))  # with --strict that ends the build
        return {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links and pictures of a page in `docs/` into those of the site."""
    place = page.file.src_uri
    if page.file.generated_by:
        return markdown
    return with_pictures(relinked(markdown, f"docs/{place}"), place)


def on_post_build(config: Any) -> None:
    """Write the files for agents beside the site; leave out the theme's page for a server, whose links need a root."""
    site = Path(config.site_dir)
    (site / "404.html").unlink()
    (site / "llms.txt").write_text(llms_txt(config.nav, pages))
    (site / "llms-full.txt").write_text(llms_full_txt(config.nav, pages))
