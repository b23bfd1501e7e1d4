#!/usr/bin/env python3
"""Scores OpenCV's background subtractors as `backdrop eval` scores Backdrop, as a Markdown table.

  tools/opencv_scores.py [--build FOLDER] SEQUENCE...

SEQUENCE is a folder in the layout of CDnet, or synth:NAME, which FOLDER/scene_folder renders first
(FOLDER is build/; make the program with `cmake --build build --target scene_folder`). Options of the
subtractors are OpenCV's defaults. Their masks pass a 5 x 5 median. How many pixels were scored goes to
stderr. Needs Debian's python3-opencv (its contrib modules have GSOC and CNT).
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
except ImportError as error:
    sys.exit(f"opencv_scores: {error}; on Debian: apt-get install python3-opencv, and run it with "
             "/usr/bin/python3")

MOVING, OUTSIDE, UNKNOWN = 255, 85, 170  # values of a pixel of the ground truth


def subtractors():
    made = {"MOG2": cv2.createBackgroundSubtractorMOG2(), "KNN": cv2.createBackgroundSubtractorKNN()}
    if hasattr(cv2, "bgsegm"):
        made["GSOC"] = cv2.bgsegm.createBackgroundSubtractorGSOC()
        made["CNT"] = cv2.bgsegm.createBackgroundSubtractorCNT()
    return made


def numbered(folder):
    """The pictures in a folder by the number in their names."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        match = re.search(r"(\d+)\.(?:png|jpe?g|bmp)$", path.name)
        if match:
            found[int(match.group(1))] = path
    if not found:
        raise ValueError(f"{folder}: no numbered pictures there")
    return found


def read(path, how):
    picture = cv2.imread(str(path), how)
    if picture is None:
        raise ValueError(f"{path}: cannot be read")
    return picture


def scored_range(folder, inputs):
    path = folder / "temporalROI.txt"
    if not path.exists():
        return min(inputs), max(inputs)
    words = path.read_text().split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        raise ValueError(f"{path}: must hold the first and last frame to score")
    return int(words[0]), int(words[1])


def region(folder):
    """Where pixels count, or True: everywhere."""
    path = folder / "ROI.bmp"
    return read(path, cv2.IMREAD_GRAYSCALE) >= 128 if path.exists() else True


def score(folder):
    """F of each subtractor, pooled over all scored frames, and the positives and negatives."""
    inputs, truths = numbered(folder / "input"), numbered(folder / "groundtruth")
    first, last = scored_range(folder, inputs)
    inside = region(folder)
    models = subtractors()
    hits, alarms = dict.fromkeys(models, 0), dict.fromkeys(models, 0)
    positives = negatives = 0
    for number, path in inputs.items():
        picture = read(path, cv2.IMREAD_COLOR)
        masks = {name: model.apply(picture) for name, model in models.items()}
        if not first <= number <= last or number not in truths:
            continue
        truth = read(truths[number], cv2.IMREAD_GRAYSCALE)
        if truth.shape != picture.shape[:2]:
            raise ValueError(f"{truths[number]}: not of the size of {path}")
        moving = (truth == MOVING) & inside
        still = (truth != MOVING) & (truth != OUTSIDE) & (truth != UNKNOWN) & inside
        positives += int(moving.sum())
        negatives += int(still.sum())
        for name, mask in masks.items():
            found = cv2.medianBlur(mask, 5) >= 128  # MOG2 and KNN write 127 for shadows
            hits[name] += int(np.count_nonzero(found & moving))
            alarms[name] += int(np.count_nonzero(found & still))
    # 2 TP / (2 TP + FP + FN); the denominator is what was found and what was to be found.
    measures = {name: 2 * hits[name] / max(1, hits[name] + alarms[name] + positives)
                for name in models}
    return measures, positives, negatives


def score_sequence(name, build):
    if not name.startswith("synth:"):
        return score(pathlib.Path(name))
    program = pathlib.Path(build) / "scene_folder"
    if not program.exists():
        raise ValueError(f"{program} is missing: cmake --build {build} --target scene_folder")
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([str(program), name[len("synth:"):], folder], check=False,
                              stderr=subprocess.PIPE, text=True)
        if made.returncode:
            raise ValueError(made.stderr.strip())
        return score(pathlib.Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", default="build", help="folder with scene_folder (default build)")
    parser.add_argument("sequences", nargs="+", metavar="SEQUENCE",
                        help="a folder in the layout of CDnet, or synth:NAME")
    options = parser.parse_args()
    names = list(subtractors())
    print("| | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|", flush=True)
    for sequence in options.sequences:
        measures, positives, negatives = score_sequence(sequence, options.build)
        label = sequence if sequence.startswith("synth:") else pathlib.Path(sequence).resolve().name
        print(f"{label}: {positives} positives, {negatives} negatives", file=sys.stderr)
        print(f"| {label} | " + " | ".join(f"{measures[name]:.3f}" for name in names) + " |",
              flush=True)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, cv2.error) as error:
        sys.exit(f"opencv_scores: {error}")
