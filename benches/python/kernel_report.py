"""The tables of `./dev bench kernels`, as markdown."""

from kernel_rows.row import LIBRARIES, OURS

HEAD = (
    "| op | size | dlbridge | torch | numpy | jax | torch / dlbridge | of the limit | bar | met |"
)
RULE = "|---|---|---:|---:|---:|---:|---:|---:|---|---|"


def print_all(measured):
    """Prints the tables of all numbers of threads, and which bars are missed."""
    missed, count = [], 0
    for one in measured:
        threads = f"{one['threads']} thread" + "s" * (one["threads"] > 1)
        tables = dict.fromkeys(row["table"] for row in one["rows"])
        for table in tables:
            print(f"\n### {table}, {threads}\n\n{HEAD}\n{RULE}")
            for row in one["rows"]:
                if row["table"] == table:
                    print(line(row, one["peaks"]))
                    count += len(row["bars"])
                    missed += [f"{threads}: {text}" for text in misses(row)]
        peaks = ", ".join(f"{kind} {flops / 1e9:.0f}" for kind, flops in one["peaks"].items())
        print(f"\nPeak GFLOPS with {threads}: {peaks}.")
        if one["missing"]:
            print(f"\nNot measured, as the package has no such op: {'; '.join(one['missing'])}.")
    print(
        f"\n### Bars of the calls from Python\n\n{count - len(missed)} of {count} are met. Missed:\n"
    )
    print("\n".join(f"- {text}" for text in missed) or "none")


def line(row, peaks):
    seconds = row["seconds"]
    times = [duration(seconds.get(library)) for library in LIBRARIES]
    ratio = f"{seconds['torch'] / seconds[OURS]:.2f}"
    bars, met = bar_texts(row)
    cells = [row["name"], row["size"], *times, ratio, limit(row, peaks), bars, met]
    return f"| {' | '.join(cells)} |"


def duration(seconds):
    if seconds is None:
        return ""
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000 or unit == "ms":
            number = seconds * factor
            return f"{number:.{0 if number >= 100 or unit == 'ns' else 2 if number < 10 else 1}f} {unit}"


def limit(row, peaks):
    """The share of what the machine does at most: bandwidth, or operations per second."""
    if row["flops"] and row["peak"] in peaks:
        share = row["flops"] / row["seconds"][OURS] / peaks[row["peak"]]
        return f"{share:.2f} of FLOPS"
    share = share_of_bandwidth(row)
    return "" if share is None else f"{share:.2f} of bandwidth"


def share_of_bandwidth(row):
    if row["bandwidth"] is None:
        return None
    return row["nbytes"] / row["seconds"][OURS] / row["bandwidth"]


def results(row):
    """Each bar: what it compares with, the least value, and the measured one."""
    for kind, least in row["bars"].items():
        if kind == "bandwidth":
            yield kind, least, share_of_bandwidth(row)
        elif kind in row["seconds"]:
            yield kind, least, row["seconds"][kind] / row["seconds"][OURS]


def bar_texts(row):
    found = list(results(row))
    bars = ", ".join(f"{least:g} of {kind}'s speed" for kind, least, _ in found)
    bars = bars.replace("bandwidth's speed", "bandwidth")
    met = ", ".join(
        "met" if value >= least else f"**missed: {value:.2f}**" for _, least, value in found
    )
    return bars, met


def misses(row):
    for kind, least, value in results(row):
        if value < least:
            against = "of the bandwidth" if kind == "bandwidth" else f"of {kind}'s speed"
            yield f"{row['name']}, {row['size']}: {value:.2f} {against}, the bar is {least:g}"
