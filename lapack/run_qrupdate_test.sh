#!/bin/sh
# qrupdate's own test programs on the drop-in: those of a QR factorisation that is updated. Four are of
# routines that it replaces. Two are of others, and factorise by it first. Each takes residuals in the four
# precisions; the drop-in has the single one.
#   lapack/run_qrupdate_test.sh DROP-IN [FOLDER]
# FOLDER is qrupdate's source, whose folder test has the programs; the variable QRUPDATE names it where the
# argument does not. Exit status 0: everything passed, and ran on the drop-in; 1: not so; 77: there is no
# compiler, no library or no source.
set -u
export LC_ALL=C

drop_in=${1:?the file of the drop-in is wanted}
folder=${2:-${QRUPDATE:-}}
tests=$folder/test
programs='tqrinc tqrdec tqrinr tqrder tqr1up tqrshc'

# skip WHY
skip()
{
    echo "$1" >&2
    exit 77
}
if ! [ -r "$drop_in" ]; then
    echo "$drop_in: no such drop-in" >&2
    exit 1
fi
command -v gfortran >/dev/null || skip "no gfortran: install it"
[ -n "$folder" ] || skip "no folder of qrupdate's source: name it, or set QRUPDATE"
for program in utils $programs; do
    [ -r "$tests/$program.f" ] || skip "no $tests/$program.f: $folder is not qrupdate's source"
done

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# build NAME FILE..: Fortran 77, where a complex array is passed as a real one.
build()
{
    name=$1
    shift
    gfortran -O2 -w -std=legacy -o "$scratch/$name" "$@" -lqrupdate -llapack -lblas 2>"$scratch/log"
}
printf '      call sqrinc\n      end\n' >"$scratch/empty.f"
if ! build empty "$scratch/empty.f" || ! ldd "$scratch/empty" | grep -q libqrupdate; then
    skip "no shared libqrupdate, LAPACK or BLAS to link: install libqrupdate-dev, liblapack-dev, libblas-dev"
fi

# outcome WORD FILE: of how many tests the output says WORD, which is PASS or FAIL.
outcome()
{
    grep -c "error = .* $1\$" "$2"
}
failed=0
for program in $programs; do
    if ! build "$program" "$tests/$program.f" "$tests/utils.f"; then
        cat "$scratch/log" >&2
        exit 1
    fi
    LD_PRELOAD='' "$scratch/$program" >"$scratch/plain" 2>&1
    counts=$scratch/counts-$program
    BACKDROP_LAPACK_COUNTS=$counts LD_PRELOAD=$drop_in "$scratch/$program" >"$scratch/out" 2>&1
    status=$?
    passed=$(outcome PASS "$scratch/out")
    wanted=$(grep -c 'error = ' "$scratch/plain")
    touch "$counts"
    echo "$program: $passed of $wanted tests passed;" \
        "the drop-in's calls: $(awk '$2 > 0 { printf "%s%s %s", comma, $1, $2; comma = ", " }' "$counts")"
    if [ $status != 0 ] || [ "$passed" = 0 ] || [ "$passed" != "$wanted" ] ||
        [ "$(outcome FAIL "$scratch/out")" != 0 ] || [ "$(outcome PASS "$scratch/plain")" != "$wanted" ]; then
        echo "$program: not all tests passed (exit status $status):" >&2
        cat "$scratch/out" >&2
        failed=1
    fi
    case $program in
        tqr1up | tqrshc) own= ;;
        *) own=s${program#t} ;;
    esac
    for routine in sgeqrf sorgqr $own; do
        if ! grep -q "^$routine [1-9]" "$counts"; then
            echo "$program: the drop-in's $routine was not called" >&2
            failed=1
        fi
    done
done
exit $failed
