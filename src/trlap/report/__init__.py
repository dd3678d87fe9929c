"""The report: the paper's tables and figures regenerated from results on disk, its claims, one page.

result.json of every run ─► results ─► tables, downstream, frontier ─► drawing/, claims ─► render/
"""
