#!/usr/bin/env python3
"""Makes docs/measurements.md from the rows in docs/measurements/*.json.

  tools/measurements.py          writes the page
  tools/measurements.py --check  exit status 1 if the page is not what would be written

The rows are what `backdrop bench --json FILE` writes. A file holds the rows of a suite on a backend.
"""
import difflib
import json
import pathlib
import re
import sys

docs = pathlib.Path(__file__).resolve().parent.parent / "docs"

# In the order of the page: the title of a suite and what its rows are.
SUITES = {
    "qr": ("QR", "R only, and R with the thin Q, of a tall matrix. `by policy` is the method that the "
           "library chooses by itself."),
    "update": ("QR of a sliding window", "Columns leave a window and enter it, and Q and R follow. "
               "The peer factors the window again."),
    "updates": ("QR updating beside published tables",
                "Columns or rows of a least-squares problem come or go, and R, Q^T b and the solution "
                "x follow (in tables 2, 3, 10 and 11 all of Q too). *Again* is the time of factoring "
                "the problem after the change by the fastest way measured: cuSOLVER or LAPACK, or our "
                "own QR; without Q, and with all of Q where the update keeps it. *Published* is the "
                "paper's ratio of the same two times. A cell marked with a star was factored again, "
                "because the model of costs expects that to be faster."),
    "wy": ("QR with all of Q", "Blocked Householder QR (on the CPU: CAQR) with R and the whole m x m "
           "Q. `gflops` counts operations as the paper does, in 1e9 a second; `factor_ms` is the "
           "factorisation alone."),
    "svd": ("SVD of the small R", "Singular values and V of an n x n matrix R. *Warm*: R has changed "
            "a little since the last call. *Cold*: R is another one."),
    "svqr": ("QR by the Gram matrix", "CholQR and SVQR in float64 and in mixed precision. The peer is "
             "the same method in library calls, as often as passes were needed (`passes`)."),
    "rpca": ("Robust PCA", "One iteration of the batch solver. The peer stores L, S and Y, as the "
             "papers do, and calls a library for QR, SVD and products. The residual is "
             "||M - L - S|| / ||M||."),
    "separate": ("Live separation", "The time of a frame that is in memory already, with pictures "
                 "(or, where the method says so, only the mask) returned to the host."),
    "app": ("The whole program", "A film is rendered, encoded and exported by processes of their own, "
            "from their start to the closed files. `first_frame_s` is in seconds, all else in "
            "milliseconds a frame, but `peak_mib`. `median_ms` and `p99_ms` are the times between "
            "frames, `second_half_ms` is free of the start, `cpu_ms` is the processors' time. OpenCV's "
            "subtractors decode the same film and clean their masks at full size, and write nothing."),
    "accuracy": ("Accuracy", "*Forward* is ||x - x'|| / ||x'||, with x' by the peer in float32 and by "
                 "LAPACK in float64. With Q (tables 13 to 15), the residual is "
                 "||QR - A||_2 / ||A||_2 and the orthogonality ||Q^T Q - I||_2; without Q the "
                 "residual is ||R^T R - A^T A||_F / ||A||_F^2. *Published* is the paper's error on "
                 "its GPU."),
}
BACKENDS = {"cuda": "on a GPU", "cpu": "on the CPU"}

INTRO = """# Measurements

This page is made by `tools/measurements.py` from the JSON files in [measurements/](measurements/). A
test checks that it is up to date. Do not edit it: measure again and run the script.

Each table says when, on which device and at which commit it was measured. Times are medians in
milliseconds. Peers run in the same process on the same data, in turn with ours. A dash means that a
value was not measured, or that there is nothing to compare with.

| Column | Meaning |
|---|---|
| case, method | what was computed, and how; a row whose method is a peer's is the peer's own |
| ms | the time: the median |
| of floor | how near that is to the least time possible. The floor is the larger of the bytes that must move, at the copy rate measured in the same run, and the operations, at the rate of large products measured in the same run (float32, three TF32 products or float64 for a Gram matrix, whichever is fastest) |
| peer, peer ms | another way to the same result, and its time; where there are several, the fastest, but R alone on a GPU is compared with cuSOLVER |
| ratio | the peer's time divided by ours: above 1 we are faster |
| residual | \\|\\|QR - A\\|\\| / \\|\\|A\\|\\|; for R alone \\|\\|R^T R - A^T A\\|\\| / \\|\\|A\\|\\|^2; for the SVD \\|\\|R^T R - V sigma^2 V^T\\|\\| / \\|\\|R\\|\\|^2. In float64, by code that is not the library's |
| orthogonality | \\|\\|Q^T Q - I\\|\\|; for the SVD of V |
| also | further values of the row, by the names that they have in the JSON file |

On a GPU, time is taken by events on the backend's stream. A round is as many calls in a row as take
20 ms, so that launches overlap as in use; a call that overwrites its input is timed by itself, and
gets a fresh copy before. Inputs that would fit the cache rotate among copies. The suites `separate` and
`app` take the host's time. On the CPU, LAPACK and the library use the same
number of threads; with `--threads 1`, time is the processor's.
"""

COMMON = {"suite", "case", "backend", "method", "m", "n", "ms", "floor_ms", "peer", "peer_ms", "ratio",
          "residual", "orthogonality", "date", "device", "commit", "cpu", "threads", "blas_threads"}


def number(value, digits=4):
    if value is None:
        return "-"
    if value and abs(value) < 1e-3:
        return f"{value:.1e}"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def ratio(value):
    return "-" if value is None else f"{value:.2f}"


def error(value):
    return "-" if value is None else f"{value:.1e}"


def table(head, rows):
    """Markdown: the first column of `head` is text, a trailing colon aligns a column right."""
    names = [h.rstrip(":") for h in head]
    rules = ["---:" if h.endswith(":") else "---" for h in head]
    lines = [names, rules] + rows
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def generic(rows):
    has_peer = any(r.get("peer_ms") for r in rows)
    has_error = any(r.get("residual") for r in rows)
    head = ["case", "method", "ms:", "of floor:"]
    head += ["peer", "peer ms:", "ratio:"] if has_peer else []
    head += ["residual:", "orthogonality:"] if has_error else []
    also = [", ".join(f"{k} {number(v)}" for k, v in r.items() if k not in COMMON and v is not None)
            for r in rows]
    head += ["also"] if any(also) else []
    lines = []
    for row, more in zip(rows, also):
        floor, ms = row.get("floor_ms"), row.get("ms")
        line = [row["case"], row["method"], number(ms),
                f"{100 * floor / ms:.0f} %" if floor and ms else "-"]
        if has_peer:
            line += [row.get("peer") or "-", number(row.get("peer_ms")), ratio(row.get("ratio"))]
        if has_error:
            line += [error(row.get("residual")), error(row.get("orthogonality"))]
        lines.append(line + ([more or "-"] if any(also) else []))
    return table(head, lines)


def updates(rows):
    """A line a cell: the rows against factoring without and with all of Q are one."""
    text, tables = [], {}
    for row in rows:
        found = re.match(r"table (\d+): (\d.*)", row["case"])
        if found:
            tables.setdefault(found[1], {}).setdefault(found[2], []).append(row)
    for wanted, cells in tables.items():
        with_q = any(len(pair) > 1 for pair in cells.values())
        lines, won, best = [], 0, 0
        for name, pair in cells.items():
            plain, full = pair[0], pair[1] if len(pair) > 1 else {}
            star = "\\*" if plain["method"].startswith("anew") else ""
            won += (plain.get("ratio") or 0) >= 1
            best = max(best, plain.get("ratio") or 0)
            line = [name + star, number(plain.get("ms")), number(plain.get("peer_ms")),
                    ratio(plain.get("ratio"))]
            if with_q:
                line += [number(full.get("peer_ms")), ratio(full.get("ratio"))]
            lines.append(line + [ratio(plain.get("paper_ratio"))])
        head = ["problem", "update, ms:", "again, ms:", "ratio:"]
        head += ["again with Q, ms:", "ratio:"] if with_q else []
        text.append(f"Table {wanted}: the update is at least as fast in {won} of {len(cells)} cells, "
                    f"and at best {best:.3g} times as fast.\n\n" + table(head + ["published:"], lines))
    return "\n".join(text)


def marks(row, paper):
    """What happened in an iteration, measured ("") or published ("paper_")."""
    keys = (("f", "failed"), ("t", "truncated"), ("+", "float32"))
    return "".join(mark for mark, key in keys if row.get(paper + key))


def accuracy(rows):
    text = []
    plain = [r for r in rows if r["case"].startswith("table")]
    if plain:
        pair = lambda r, key, paper: f"{error(r.get(key))} ({error(r[paper])})" if r.get(paper) else \
            error(r.get(key))
        text.append(table(
            ["change", "forward, float32 (published):", "forward, float64:",
             "residual (published):", "orthogonality (published):"],
            [[r["case"], pair(r, "forward", "paper_forward"), error(r.get("forward_float64")),
              pair(r, "residual", "paper_backward"), pair(r, "orthogonality", "paper_orthogonality")]
             for r in plain]))
    figures = {}
    for row in rows:
        found = re.match(r"(figure \d+)(?:: (.*), iteration (\d+))?", row["case"])
        if found and found[2]:
            figures.setdefault((found[1], found[2], row["m"], row["n"]), {}).setdefault(
                found[3], {})[row["method"]] = row
    if figures:
        text.append("Each cell of the following tables is measured (published). f: Cholesky failed; "
                    "t: singular values were truncated; +: solved in float32.\n")
    for (figure, problem, m, n), iterations in figures.items():
        for key, what in (("orthogonality", "||I - Q^T Q||_2"), ("condition", "kappa(Q)")):
            if not any(f"paper_{key}" in r for line in iterations.values() for r in line.values()):
                continue
            methods = list(next(iter(iterations.values())))
            lines = []
            for iteration, line in iterations.items():
                cells = []
                for method in methods:
                    r = line[method]
                    cells.append(f"{error(r[key])}{marks(r, '')} "
                                 f"({error(r.get('paper_' + key))}{marks(r, 'paper_')})")
                lines.append([iteration] + cells)
            text.append(f"{figure.capitalize()}, {problem}, {m} x {n}: {what}\n\n"
                        + table(["iteration"] + [f"{m}:" for m in methods], lines))
    backward = [r for r in rows if r["case"].startswith("figure 18")]
    if backward:
        text.append("Figure 18: ||V - Q R||_2 after the last of these iterations, measured "
                    "(published)\n\n" + table(
                        ["problem", "method", "error:"],
                        [[r["case"][11:], r["method"],
                          f"{error(r['backward'])} ({error(r['paper_backward'])})"] for r in backward]))
    return "\n".join(text)


LAYOUTS = {"updates": updates, "accuracy": accuracy}


def page():
    notes = json.loads((docs / "measurements/notes.json").read_text())
    rows = []
    for path in sorted((docs / "measurements").glob("*.json")):
        if path.name not in ("notes.json", "gate.json"):
            rows += json.loads(path.read_text())
    text = [INTRO]
    for suite, (title, meaning) in SUITES.items():
        text.append(f"## {title}: `{suite}`\n\n{meaning}\n")
        text += [note + "\n" for note in notes.get(suite, [])]
        for backend, place in BACKENDS.items():
            runs = {}
            for row in rows:
                if (row["suite"], row["backend"]) == (suite, backend):
                    key = (row["date"], row["commit"], row["device"], row.get("cpu"))
                    runs.setdefault(key, []).append(row)
            for (date, commit, device, cpu), group in sorted(runs.items(), reverse=True):
                text.append(f"### `{suite}` {place}\n\n{date}, commit {commit}; {device}; {cpu}\n")
                text.append(LAYOUTS.get(suite, generic)(group))
    return "\n".join(text)


def main():
    path = docs / "measurements.md"
    new, old = page(), path.read_text() if path.exists() else ""
    if sys.argv[1:] == ["--check"]:
        difference = difflib.unified_diff(old.splitlines(), new.splitlines(), "docs/measurements.md",
                                          "what tools/measurements.py makes", n=0, lineterm="")
        lines = list(difference)[:20]
        print("\n".join(lines) if lines else "docs/measurements.md is up to date")
        return 1 if lines else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    path.write_text(new)
    return 0


sys.exit(main())
