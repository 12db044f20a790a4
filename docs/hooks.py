"""What the site has beside the pages: each report of docs/results as one page that needs no other file, from its records."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mergebo.experiments.report import page as report_page

REPORT = re.compile(r"results/[\w-]+/report\.md")
ONE_PAGE = "standalone.html"  # `report.html` is what becomes of report.md


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of each folder of records; nothing is written there."""
    for records in sorted(Path(config.docs_dir).glob("results/*/records.jsonl")):
        folder = records.parent
        files.append(File.generated(config, f"results/{folder.name}/{ONE_PAGE}", content=report_page(folder)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link to it where the report begins."""
    if not REPORT.fullmatch(page.file.src_uri):
        return markdown
    head, _, rest = markdown.partition("\n")
    return f"{head}\n\nThe same on [one page to keep]({ONE_PAGE}), with figures that can be enlarged.\n{rest}"
