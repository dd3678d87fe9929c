"""The report as Markdown, as LaTeX and as a page for a browser."""
