#!/bin/sh
# LAPACK's own test programs on the drop-in: error exits and residuals of the routines that it replaces
# and of those that call them, for real single precision: linear equations (xlintsts), and singular values,
# eigenvalues and generalised QR (xeigtsts).
#   lapack/run_lapack_test.sh DROP-IN [FOLDER]
# FOLDER has the programs and their input; by default where Debian's package liblapack-test puts them. Exit
# status 0: everything passed, and ran on the drop-in; 1: not so; 77: the programs are not there.
set -u
export LC_ALL=C

drop_in=${1:?the file of the drop-in is wanted}
folder=${2:-}
if [ -z "$folder" ]; then
    for folder in /usr/lib/*/lapack; do
        [ -x "$folder/xlintsts" ] && break
    done
fi
if ! [ -x "$folder/xlintsts" ] || ! [ -r "$folder/stest.in" ]; then
    echo "no xlintsts and stest.in: install liblapack-test, or name their folder" >&2
    exit 77
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Sizes, block sizes and the threshold are in the first 16 lines, then each line is a group of tests.
sed -n -E -e 1,16p -e '17,$ { /^S(QR|TZ|LS|QT|QX|TS|HH)( |$)/p; }' "$folder/stest.in" >"$scratch/in"
BACKDROP_LAPACK_COUNTS=$scratch/counts LD_PRELOAD=$drop_in \
    "$folder/xlintsts" <"$scratch/in" >"$scratch/out" 2>&1 || {
    tail -n 20 "$scratch/out" >&2
    exit 1
}
grep -E 'passed|failed|FAIL|not |test\(' "$scratch/out"

failed=0
for group in SQR STZ SLS SQT SQX STS SHH; do
    if ! grep -q "^ All tests for $group .*passed the threshold" "$scratch/out"; then
        echo "$group: not all tests passed" >&2
        failed=1
    fi
    if ! grep -q "^ $group .*passed the tests of the error exits" "$scratch/out"; then
        echo "$group: the error exits did not pass" >&2
        failed=1
    fi
done
for routine in sgeqrf sgeqr2 sorgqr sorg2r sormqr sorm2r sgeqr sgemqr sgels; do
    if ! grep -q "^$routine [1-9]" "$scratch/counts"; then
        echo "$routine: the drop-in's was not called" >&2
        failed=1
    fi
done

# xeigtsts must say of as many groups that they passed as it judges without the drop-in, and of none that it
# failed. Without the drop-in a group may fail, by the kernels that OpenBLAS has for a processor. Where the
# drop-in changes nothing then, not one digit of what is said, the failure is not its own. What a group is
# called differs from input to input.
#   eigen INPUT DROP-IN
eigen()
{
    LD_PRELOAD=$2 BACKDROP_LAPACK_COUNTS=$scratch/counts "$folder/xeigtsts" <"$folder/$1.in" 2>&1
}
rm "$scratch/counts"
for input in svd sgd gqr glm lse sgg sep nep; do
    [ -r "$folder/$input.in" ] && [ -x "$folder/xeigtsts" ] || continue
    eigen $input '' >"$scratch/plain"
    eigen $input "$drop_in" >"$scratch/out" || failed=1
    passed=$(grep -c ' passed the ' "$scratch/out")
    wanted=$(grep -cE ' passed the | failed the | failed to pass the ' "$scratch/plain")
    echo "xeigtsts $input: $passed of $wanted groups passed"
    sed -i '/Total time used/d' "$scratch/plain" "$scratch/out"
    if [ "$passed" != 0 ] && cmp -s "$scratch/plain" "$scratch/out"; then
        continue
    fi
    if [ "$passed" = 0 ] || [ "$passed" != "$wanted" ] || grep -iE 'failed|did not pass' "$scratch/out" >&2; then
        echo "$input: not all tests passed" >&2
        failed=1
    fi
done
for routine in sgeqrf sgeqr2 sorgqr sorg2r sormqr sorm2r; do
    if [ -x "$folder/xeigtsts" ] && ! grep -q "^$routine [1-9]" "$scratch/counts"; then
        echo "$routine: xeigtsts did not call the drop-in's" >&2
        failed=1
    fi
done
exit $failed
