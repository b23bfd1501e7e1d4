#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with clang and runs them, two at a time, on their seeds and on what
# was found. Fails, and names the input, if one breaks.
#   tools/fuzz.sh 10s [NAME...]      10 seconds for each fuzzer, or for those named: what CI runs;
#                                    always the same inputs, as long as nothing else was learned
#   tools/fuzz.sh HOURS [NAME...]    so many hours for all of them together, with new random inputs
# What they learn is kept in build-fuzz/corpus/NAME, and is where the next run goes on.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build-fuzz
root=$PWD

if [[ ! ${1:-} =~ ^[0-9]+(\.[0-9]+)?s?$ ]]; then
    echo "usage: tools/fuzz.sh SECONDSs|HOURS [NAME...]" >&2
    exit 1
fi
duration=$1
shift

CC=clang cmake -S . -B $build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBD_FUZZ=ON -DBD_TESTS=OFF -DBD_CUDA=OFF \
    -DBD_LIBRARY=OFF >/dev/null
mapfile -t names < <(sed -n 's/^bd_fuzzer(\([a-z_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt)
if [ $# -gt 0 ]; then
    names=("$@")
fi
cmake --build $build --parallel "$(nproc)" --target "${names[@]/#/fuzz_}"

if [[ $duration == *s ]]; then
    seconds=${duration%s}
    seed=1
else
    seed=0
    seconds=$(awk -v h="$duration" -v n=${#names[@]} 'BEGIN { printf "%d", h * 3600 * 2 / n }')
fi

# Small films of ten kinds: with four bytes of settings before them (reader.c).
make_films()
{
    local to=$build/corpus/reader kind
    mkdir -p $to
    for kind in "a.mp4 -c:v mpeg4" "b.mkv -c:v ffv1" "c.avi -c:v mjpeg" "d.ts -c:v mpeg2video" \
        "e.nut -c:v huffyuv" "f.webm -c:v libvpx" "g.mov -c:v qtrle" "h.flv -c:v flv" "i.gif -c:v gif" \
        "j.y4m -pix_fmt yuv420p" "k.png -frames:v 1" "l.jpg -frames:v 1" "m.mp4 -c:v libx264 -movflags +frag_keyframe"; do
        [ -s "$to/${kind%% *}" ] && continue
        # shellcheck disable=SC2086
        ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=48x32:rate=25:duration=0.3 ${kind#* } \
            "$build/${kind%% *}" 2>/dev/null || continue
        { printf '\0\0\0\0' && cat "$build/${kind%% *}"; } >"$to/${kind%% *}"
        rm "$build/${kind%% *}"
    done
}

run()
{
    local name=$1 corpus=$build/corpus/$1 log=$build/$1.log
    mkdir -p "$corpus" "tests/fuzz/seeds/$name"
    if ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        LSAN_OPTIONS=suppressions=$root/tests/support/lsan.supp:print_suppressions=0 \
        "$build/fuzz_$name" -max_total_time="$seconds" -seed=$seed -timeout=20 -rss_limit_mb=6000 -malloc_limit_mb=4000 \
        -max_len=20000 -artifact_prefix="$build/found-$name-" -print_final_stats=1 "$corpus" \
        "tests/fuzz/seeds/$name" >"$log" 2>&1; then
        awk -v name="$name" '/number_of_executed_units/ { printf "%-16s %12d executions\n", name, $2 }' "$log"
    else
        tail -n 40 "$log" >&2
        echo "fuzz: $name broke: $log" >&2
        return 1
    fi
}

make_films
failed=0
pids=()
for name in "${names[@]}"; do
    run "$name" &
    pids+=($!)
    if [ ${#pids[@]} = 2 ]; then
        wait "${pids[0]}" || failed=1
        pids=("${pids[@]:1}")
    fi
done
for pid in "${pids[@]}"; do
    wait "$pid" || failed=1
done
exit $failed
