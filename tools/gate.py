#!/usr/bin/env python3
"""A gate: masks and objects are as good, and the program is as fast, as docs/measurements/gate.json says.

  tools/gate.py quality [CASE...] [--update]  F of each sequence and scene, as a film and live; F of the
                                              boxes of objects, and changes of their numbers, in films
  tools/gate.py speed [--update]              how often as fast as a peer in the same run

A CASE is a sequence in $BACKDROP_DATA/sequences (../shared/data), or synth:NAME; without one, all are
scored. F may be .002 lower than in the table, of boxes .005, a speed 15 % lower; numbers may not change
more often. Exit status 1 tells that one is worse.

Speeds are those of one thread, in the processor's time, which other work on the machine disturbs least.
They are medians of ratios, each of two times taken one after the other. A ratio depends on the processor,
so the table has rows for each; without rows for this one nothing is compared. The peer of `export` is a
decoder (ffmpeg).

--update writes what was measured into the table. Rows that stay the same keep their date and commit.
--table FILE is compared with, or written, in place of that table.
--program FILE measures FILE (build/backdrop), or a backdrop-bench, which has no export.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
data = pathlib.Path(os.environ.get("BACKDROP_DATA") or root.parent / "shared/data") / "sequences"

F_TOLERANCE = .002
BOXES_TOLERANCE = .005
GOOD_MASKS = .95  # F from which objects are compared: they cannot be better than masks
SPEED_TOLERANCE = .15
STARTS = {"film": ["--objects"], "live": ["--live"]}  # options of `eval`
BENCH = ["qr", "svqr", "svd", "rpca", "update"]  # suites with peers
BENCH_ROUNDS = 15
EXPORT_ROUNDS = 5
FILM = root / "assets/street.mp4"
EXPORTS = {"export rgb": [], "export gray": ["--color", "gray"]}


def fail(text):
    sys.exit(f"gate: {text}")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def processor_seconds(command):
    """What the command took of all processors."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        fail(f"{' '.join(map(str, command))}: status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def stamp(program):
    """Date and commit of what is measured now, as rows of the bench have them."""
    now = datetime.datetime.now(datetime.timezone.utc)
    commit = re.search(r"\((.*)\)", run([program, "--version"]))
    return {"date": f"{now:%Y-%m-%d %H:%M} UTC", "commit": commit[1]}


def write(table, rows):
    """A row a line, so that two changes of different rows can be merged."""
    rows = sorted(rows, key=lambda row: (row["gate"], row.get("device", ""), row.get("cpu", ""),
                                         row["case"], row.get("start", "")))
    text = ",\n".join("  " + json.dumps(row) for row in rows)
    temporary = table.with_suffix(".part")
    temporary.write_text(f"[\n{text}\n]\n")
    temporary.replace(table)


# ---- quality ------------------------------------------------------------------------------------

def scenes(program):
    listed = re.search(r"^Scenes.*\n((?:  .*\n)*)", run([program, "info"]), re.M)
    return [f"synth:{line.split()[0]}" for line in listed[1].splitlines()]


def choose(program, asked, known):
    """The cases to score; those of the table that this machine has not are told."""
    here = {path.name: str(path) for path in sorted(data.glob("*")) if (path / "input").is_dir()}
    here.update((scene, scene) for scene in scenes(program))
    chosen = {case: here[case] for case in asked or here if case in here}
    for case in asked or sorted(known):
        if case in here:
            continue
        if case in asked or case.startswith("synth:"):
            fail(f"there is no {case}")
        print(f"gate: {case} skipped: it is not in {data}")
    return chosen


def score(program, cases):
    """A row for each case and start."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for start, options in STARTS.items():
            path = pathlib.Path(folder) / f"{start}.json"
            run([program, "eval", *cases.values(), *options, "--json", path, "-q"])
            for result in json.loads(path.read_text())["sequences"]:
                rows[result["name"], start] = {
                    "gate": "quality", "case": result["name"], "start": start,
                    "f": round(result["f_measure"], 4), "precision": round(result["precision"], 4),
                    "recall": round(result["recall"], 4), "positives": result["tp"] + result["fn"],
                    "negatives": result["fp"] + result["tn"]}
                if "objects" in result and result["f_measure"] > GOOD_MASKS:
                    rows[result["name"], start] |= {
                        "boxes_f": round(result["objects"]["f_measure"], 4),
                        "switches": result["objects"]["switches"]}
    return rows


def judge_quality(row, old):
    """What to say of a row, and whether it is worse than the table."""
    if not old:
        return "not in the table: --update adds it", True
    for key in ("positives", "negatives"):
        if row[key] != old[key]:
            return f"{row[key]} {key} are scored in place of {old[key]}", True
    if "switches" in old and "switches" not in row:
        return f"WORSE: F {row['f']:.4f} is too low for objects", True
    if "switches" in old and row["switches"] > old["switches"]:
        return f"WORSE: {row['switches']} changes of numbers, not {old['switches']} ({old['commit']})", True
    if "boxes_f" in old and row["boxes_f"] < old["boxes_f"] - BOXES_TOLERANCE - 1e-9:
        return f"WORSE: boxes have F {row['boxes_f']:.4f}, not {old['boxes_f']:.4f} ({old['commit']})", True
    change = row["f"] - old["f"]
    if change < -F_TOLERANCE - 1e-9:
        return f"WORSE than {old['f']:.4f} ({old['commit']})", True
    if change > F_TOLERANCE + 1e-9:
        return f"better than {old['f']:.4f}: the table can rise (--update)", False
    return "", False


def quality(options):
    rows = json.loads(options.table.read_text())
    olds = {(row["case"], row["start"]): row for row in rows if row["gate"] == "quality"}
    cases = choose(options.program, options.case, {case for case, _ in olds})
    measured = score(options.program, cases)
    verdicts = {key: judge_quality(row, olds.get(key)) for key, row in measured.items()}
    for key in sorted(measured):
        row, text = measured[key], verdicts[key][0]
        print(f"{row['case']:16} {row['start']:5} F {row['f']:.4f}  {text}".rstrip())
    if options.update:
        now = stamp(options.program)
        for key, row in measured.items():
            old = olds.get(key, {})
            if any(row[name] != old.get(name) for name in row):
                olds[key] = row | now
        write(options.table, [row for row in rows if row["gate"] != "quality"] + list(olds.values()))
    return report(options, len(measured), verdicts.values())


# ---- speed --------------------------------------------------------------------------------------

def bench(program, suites):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        run([program, "bench", *suites, "--quick", "--threads", "1", "--json", path])
        return json.loads(path.read_text())


def bench_ratios(rows):
    """By case and peer. What has no peer of its own is compared with LAPACK's Q and R."""
    common = [row for row in rows if "orgqr" in row["method"]]
    for row in rows:
        peer, peer_ms = row.get("peer"), row.get("peer_ms")
        if not peer and row["suite"] == "svqr" and common:
            peer, peer_ms = f"{common[0]['method']} {common[0]['case'].split()[-1]}", common[0]["ms"]
        if peer:
            case = re.sub(r"iteration, .*", "iteration", row["case"])  # without what it came to
            yield (f"{row['suite']}: {case}, {row['method']}", peer), peer_ms / row["ms"]


def measure_export(program, ratios):
    """A round of `export`, and of a decoder that reads the film four times."""
    with tempfile.TemporaryDirectory() as folder:
        for case, options in EXPORTS.items():
            ours = processor_seconds([program, "export", FILM, "--mask", f"{folder}/mask.mkv", *options,
                                      "--threads", "1", "-q", "-y"])
            peer = processor_seconds(["ffmpeg", "-v", "error", "-threads", "1", "-stream_loop", "3",
                                      "-i", FILM, "-f", "null", "-"])
            ratios.setdefault((case, "ffmpeg, the film decoded four times"), []).append(peer / ours)


def measure(program, ratios):
    for _ in range(BENCH_ROUNDS):
        for key, ratio in bench_ratios(bench(program, BENCH)):
            ratios.setdefault(key, []).append(ratio)
    if pathlib.Path(program).name != "backdrop-bench":
        for _ in range(EXPORT_ROUNDS):
            measure_export(program, ratios)


def place(program):
    """What the ratios depend on."""
    row = bench(program, ["svd"])[0]
    return {"device": row["device"], "cpu": row["cpu"]}


def judge_speed(ratio, old):
    if not old:
        return "not in the table: --update adds it", True
    if ratio < old["ratio"] * (1 - SPEED_TOLERANCE):
        return f"SLOWER than {old['ratio']:.3f} ({old['commit']})", True
    if ratio > old["ratio"] * (1 + SPEED_TOLERANCE):
        return f"faster than {old['ratio']:.3f}: the table can rise (--update)", False
    return "", False


def speed(options):
    here, rows, ratios = place(options.program), json.loads(options.table.read_text()), {}
    print("gate: " + "; ".join(here.values()))
    mine = [row for row in rows if row["gate"] == "speed" and here.items() <= row.items()]
    olds = {(row["case"], row["peer"]): row for row in mine}
    if not olds and not options.update:
        print(f"gate: speed skipped: {options.table.name} has no row for this processor (--update adds them)")
        return 0

    def judge():
        return {key: judge_speed(statistics.median(values), olds.get(key))
                for key, values in ratios.items()}

    measure(options.program, ratios)
    verdicts = judge()
    if any(worse for _, worse in verdicts.values()) and not options.update:
        print("gate: measured once more, since something seems slower")
        measure(options.program, ratios)
        verdicts = judge()
    for key, values in ratios.items():
        print(f"{key[0]:62} {statistics.median(values):8.3f}  {verdicts[key][0]}".rstrip())
    for case, _ in olds.keys() - ratios.keys():
        print(f"gate: {case} skipped: not measured by this program")
    if options.update:
        write(options.table, [row for row in rows if row not in mine] +
              [{"gate": "speed", **here, "case": case, "peer": peer,
                "ratio": round(statistics.median(values), 3), **stamp(options.program)}
               for (case, peer), values in ratios.items()])
    return report(options, len(ratios), verdicts.values())


def report(options, count, verdicts):
    if options.update:
        print(f"gate: {options.table} holds what was measured")
        return 0
    failures = sum(worse for _, worse in verdicts)
    print(f"gate: {options.gate}: {count} compared, {failures} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gate", choices=["quality", "speed"])
    parser.add_argument("case", nargs="*")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--table", type=pathlib.Path, default=root / "docs/measurements/gate.json")
    parser.add_argument("--program", default=str(root / "build/backdrop"))
    options = parser.parse_args()
    if options.case and options.gate == "speed":
        parser.error("speed takes no cases")
    return quality(options) if options.gate == "quality" else speed(options)


sys.exit(main())
