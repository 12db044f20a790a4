"""MkDocs hooks: for each report in docs/results, add a self-contained page made from its records."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mergebo.experiments.report import page as report_page

REPORT = re.compile(r"results/[\w-]+/report\.md")
ONE_PAGE = "standalone.html"  # report.md is rendered to `report.html`


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of each folder of records, without writing to that folder."""
    for records in sorted(Path(config.docs_dir).glob("results/*/records.jsonl")):
        folder = records.parent
        files.append(File.generated(config, f"results/{folder.name}/{ONE_PAGE}", content=report_page(folder)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add a link to the page at the top of the report."""
    if not REPORT.fullmatch(page.file.src_uri):
        return markdown
    head, _, rest = markdown.partition("\n")
    return f"{head}\n\nAlso as [a self-contained page]({ONE_PAGE}) with scalable figures.\n{rest}"
