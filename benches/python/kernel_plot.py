"""The plot of `./dev bench kernels`: speed against size."""

from kernel_rows.row import LIBRARIES


def write(measured, path):
    """Writes an SVG with a panel for each op that was measured in several sizes."""
    import matplotlib

    matplotlib.use("svg")
    # The same file for the same figures.
    matplotlib.rcParams.update({"svg.hashsalt": "dlbridge", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot

    curves = {}
    for row in measured["rows"]:
        if row["curve"] is not None:
            name, count = row["curve"]
            curves.setdefault(name, []).append((count, row["seconds"]))
    columns = min(4, len(curves))
    lines = -(-len(curves) // columns)
    figure, panels = pyplot.subplots(
        lines, columns, figsize=(3.2 * columns, 2.6 * lines), squeeze=False, sharex=True
    )
    for panel in panels.flat[len(curves) :]:
        panel.set_visible(False)
    for panel, (name, points) in zip(panels.flat, curves.items()):
        for color, library in enumerate(LIBRARIES):
            known = [(count, count / all[library]) for count, all in points if library in all]
            if known:
                counts, speeds = zip(*sorted(known))
                speeds = [speed / 1e6 for speed in speeds]
                panel.loglog(counts, speeds, "o-", ms=3, label=library, color=f"C{color}")
        panel.set_title(name)
        panel.grid(alpha=0.3)
        panel.minorticks_off()
    panels[0][0].legend()
    threads = measured["threads"]
    figure.supxlabel("elements")
    figure.supylabel(f"million elements per second, {threads} thread" + "s" * (threads > 1))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
