#!/usr/bin/env bash
# Builds, tests and measures the CUDA backend on a machine with an NVIDIA GPU.
#
#   tools/gpu_check.sh [-b FOLDER] [-o FOLDER] [-c CLIP] [PART...]
#
# -b FOLDER  binaries to use instead of building: test_*, backdrop-bench, backdrop,
#            libbackdrop_lapack.so (which test_lapack_preload looks for), and rt.tar.xz
#            where backdrop needs libraries that this machine lacks (an archive of a folder rt/)
# -o FOLDER  where logs and the bench's JSON go; build-gpu-check without it
# -c CLIP    film for the part `film`; FOLDER/clip.mp4 without it
#
# Parts, in this order; all but `film` when none is named, which needs -b or a build with video:
#   build      configures and builds into build-gpu without video and window (needs cmake, nvcc,
#              OpenBLAS, LAPACKE, cmocka); left out with -b
#   tests      every test program, or those named in TESTS (environment), GPU_JOBS (4) at a time
#   memcheck   compute-sanitizer on the tests named in SANITIZE (environment); they see
#              BD_TEST_QUICK=1 and do fewer rounds. SANITIZE_OPTIONS (environment) are more options
#              of compute-sanitizer
#   racecheck
#   initcheck
#   bench      every suite of backdrop-bench; bench=qr,update only those, bench-quick the small
#              sizes; bench=export is the whole program from film to masks, and needs backdrop
#   film       backdrop on a clip: masks on cuda against masks on the cpu, the window, headless, and
#              the batch solver
#
# Each test may take TEST_SECONDS (180), each sanitizer run SANITIZE_SECONDS (120), each suite
# BENCH_SECONDS (240): whatever is too slow fails alone. Exit status 0 when everything passed.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
built=$root/build-gpu
usage()
{
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 1
}

binaries=$built out=build-gpu-check clip=''
while getopts b:o:c: flag; do
    case $flag in
        b) binaries=$(cd "$OPTARG" && pwd) || exit 1 ;;
        o) out=$OPTARG ;;
        c) clip=$(cd "$(dirname "$OPTARG")" && pwd)/$(basename "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
[ $# -gt 0 ] || set -- build tests memcheck racecheck initcheck bench

with_video=''
[ "$binaries" = "$built" ] || with_video=device_pictures_gpu # which the part `build` leaves out
sanitize=${SANITIZE:-qr_arguments qr_thin qr_full qr_update_blocked_gpu gram_qr_gpu caqr_gpu gram qr_update small_svd small_svd_gpu rpca mask_gpu contact_shadow_gpu mirror_gpu boundary_contrast_gpu detect separator_step separator_agree gpu_faults side_by_side $with_video}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table=$work/table
touch "$table"

# note PART NAME RESULT SECONDS: a line of the table.
note()
{
    printf '%-10s %-24s %-8s %6s s\n' "$1" "$2" "$3" "$4" >>"$table"
}

# attempt PART NAME SECONDS COMMAND...: runs it with its output in a log; the log's end is shown
# when it fails.
attempt()
{
    local part=$1 name=$2 limit=$3 log=$out/$1-$2.log begin=$SECONDS code result=ok
    shift 3
    if [ "$limit" -gt 0 ]; then
        timeout "$limit" "$@" >"$log" 2>&1
    else # a function of this script
        "$@" >"$log" 2>&1
    fi
    code=$?
    if [ $code -eq 124 ]; then
        result=slow
    elif [ $code -ne 0 ]; then
        result="exit $code"
    fi
    if [ $code -ne 0 ]; then
        printf -- '--- %s %s: %s; the end of %s:\n%s\n' "$part" "$name" "$result" "$log" \
            "$(tail -n 25 "$log")"
    fi
    note "$part" "$name" "$result" $((SECONDS - begin))
    return $code
}

# beside COMMAND...: runs it in the background, at most GPU_JOBS at a time; `wait` waits for all.
beside()
{
    while [ "$(jobs -rp | wc -l)" -ge "${GPU_JOBS:-4}" ]; do
        wait -n
    done
    "$@" &
}

build()
{
    [ "$binaries" = "$built" ] || return 0
    attempt build configure 120 cmake -S "$root" -B "$built" -DBD_APP=OFF -DBD_CUDA=ON \
        -DCMAKE_CUDA_ARCHITECTURES=native &&
        attempt build make 900 cmake --build "$built" -j "$(nproc)"
}

# The tests find files by paths from the root of the source. TESTS (environment) names some. Those
# that look at the GPU's free memory, or take most of it, run alone.
tests()
{
    local test name alone='gpu_faults large_gpu large_products_gpu large_rpca_gpu large_update_gpu'
    for test in "$binaries"/test_*; do
        name=$(basename "$test" | sed s/^test_//)
        [ -x "$test" ] || continue
        [ -z "${TESTS:-}" ] || [[ " $TESTS " == *" $name "* ]] || continue
        [[ " $alone " == *" $name "* ]] || beside run_test "$name" "$test"
    done
    wait
    for name in $alone; do
        test=$binaries/test_$name
        if [ -x "$test" ] && [[ " ${TESTS:-$name} " == *" $name "* ]]; then
            run_test "$name" "$test"
        fi
    done
}

run_test()
{
    local libraries=${LD_LIBRARY_PATH:-} drop_in=$binaries/libbackdrop_lapack.so
    [ -f "$drop_in" ] || drop_in=''
    if ldd "$2" | grep -q 'not found' && unpack_libraries; then
        libraries=$work/rt:$libraries
    fi
    attempt tests "$1" "${TEST_SECONDS:-180}" env -C "$root" "LD_LIBRARY_PATH=$libraries" \
        BACKDROP_DATA="${BACKDROP_DATA:-}" BACKDROP="$binaries/backdrop" \
        BACKDROP_LAPACK="$drop_in" "$2"
}

sanitizer()
{
    local tool=$1 name program=compute-sanitizer
    command -v "$program" >/dev/null || program=/usr/local/cuda/bin/compute-sanitizer
    if ! command -v "$program" >/dev/null; then
        note "$tool" compute-sanitizer missing 0
        return
    fi
    for name in $sanitize; do
        if [ -x "$binaries/test_$name" ]; then
            beside attempt "$tool" "$name" "${SANITIZE_SECONDS:-120}" env -C "$root" \
                BD_TEST_QUICK=1 "$program" --tool "$tool" ${SANITIZE_OPTIONS:-} --error-exitcode 9 \
                "$binaries/test_$name"
        else
            note "$tool" "$name" missing 0
        fi
    done
    wait
}

# What came with the binaries, for them alone; false if nothing did.
unpack_libraries()
{
    [ -f "$binaries/rt.tar.xz" ] || return 1
    (
        flock 9
        [ -d "$work/rt" ] || tar xJf "$binaries/rt.tar.xz" -C "$work"
    ) 9>"$work/lock"
}

# Sets `program`, which is backdrop with the libraries that came with it: for this program alone.
find_program()
{
    if [ ! -x "$binaries/backdrop" ]; then
        note "$1" backdrop missing 0
        return 1
    fi
    unpack_libraries
    program=(env "LD_LIBRARY_PATH=$work/rt:${LD_LIBRARY_PATH:-}" "$binaries/backdrop")
}

# bench NAME ARGUMENT...: the table is shown; the JSON can become docs/measurements/NAME-cuda.json. Only backdrop itself has the
# suite export, and it serves where there is no backdrop-bench.
bench()
{
    local name=$1 program=("$binaries/backdrop-bench")
    shift
    if [ "$name" = export ] || [ ! -x "$binaries/backdrop-bench" ]; then
        find_program bench || return
        program+=(bench)
    fi
    attempt bench "$name" "${BENCH_SECONDS:-240}" "${program[@]}" "$@" --backend cuda \
        --json "$out/bench-$name.json" -y
    cat "$out/bench-$name.log"
}

# How many bytes of the masks of two backends differ, of how many.
compare_masks()
{
    local file different=0 total=0
    for file in "$1"/*.pgm; do
        different=$((different + $(cmp -l "$file" "$2/$(basename "$file")" | wc -l)))
        total=$((total + $(stat -c %s "$file")))
    done
    echo "masks: $different of $total bytes differ"
    # a pixel in a thousand
    [ "$total" -gt 0 ] && [ $((different * 1000)) -le "$total" ]
}

film()
{
    local backend film=${clip:-$binaries/clip.mp4} program
    find_program film || return
    if [ ! -f "$film" ]; then
        note film "$film" missing 0
        return
    fi
    attempt film info 30 "${program[@]}" info
    cat "$out/film-info.log"
    for backend in cuda cpu; do
        mkdir -p "$work/$backend"
        attempt film "export-$backend" 120 "${program[@]}" export "$film" --backend $backend \
            --frames 200 --mask "$work/$backend/%06d.pgm" -y
        tail -n 2 "$out/film-export-$backend.log"
    done
    attempt film masks 0 compare_masks "$work/cuda" "$work/cpu"
    cat "$out/film-masks.log"
    attempt film window 60 env SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy "${program[@]}" view \
        "$film" --backend cuda --frames 100 --screenshot "$out/window.png"
    attempt film batch 120 "${program[@]}" export "$film" --backend cuda --solver batch \
        --frames 100 --mask "$work/batch.mkv" -y
}

for part; do
    case $part in
        build) build || break ;;
        tests) tests ;;
        memcheck | racecheck | initcheck) sanitizer "$part" ;;
        bench)
            for suite in qr update svd rpca separate updates wy svqr accuracy; do
                bench $suite $suite
            done
            ;;
        bench=*)
            IFS=, read -ra suites <<<"${part#bench=}"
            for suite in "${suites[@]}"; do
                bench "$suite" "$suite"
            done
            ;;
        bench-quick) bench quick --quick ;;
        film) film ;;
        *)
            echo "$part: no such part" >&2
            exit 1
            ;;
    esac
done
echo
cat "$table"
! grep -qv ' ok  *[0-9]* s$' "$table"
