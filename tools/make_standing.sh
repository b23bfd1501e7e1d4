#!/bin/bash
# Makes the sequence "standing" of docs/accuracy.md from SBI2015's CaVignal, as links:
#
#     tools/make_standing.sh .../sequences/CaVignal .../standing
#
# CaVignal played backwards shows a man who comes and stands still. Its last 120 frames are then played
# forwards and backwards until the sequence has 1650 frames, 66 seconds.
set -euo pipefail
from=$(realpath "$1") to=$2
frames=1650 last=258 still=120

# link SUB PREFIX: the files of SUB, in order, as PREFIX000001 and on
link()
{
    mkdir -p "$to/$1"
    local files=("$from/$1"/*) i k
    for ((i = 1; i <= frames; i++)); do
        k=$i
        if ((i > last)); then
            k=$(((i - last) % (2 * still)))
            k=$((k < still ? last - k : last - 2 * still + k))
        fi
        local file=${files[last - k]}
        ln -sf "$file" "$to/$1/$2$(printf %06d "$i").${file##*.}"
    done
}

link input in
link groundtruth gt
