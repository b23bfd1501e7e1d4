#!/usr/bin/env bash
# What holds of the tree as a whole: who may include whom, that every folder says what it is for, that no
# CMakeLists.txt names a source file of another folder, and how long a file may be. Reads the files that
# git tracks, prints each breach, and fails where there is one.
set -u
shopt -s lastpipe # `... | breaches` sets `failed` in this shell
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
failed=0

# breaches TEXT: reads lines; if there is one, prints TEXT and the lines, and fails.
breaches()
{
    local lines
    lines=$(cat)
    if [ -n "$lines" ]; then
        printf 'structure: %s:\n%s\n' "$1" "$lines" >&2
        failed=1
    fi
}

sources=$(git ls-files -- '*.c' '*.h' '*.inc' '*.cu' '*.cuh' '*.cpp')

# One line for each #include: FILE INCLUDED, INCLUDED without its quotes or brackets.
# shellcheck disable=SC2086
includes=$(grep -HE '^ *# *include ' $sources |
    sed -E 's/^([^:]*):[^"<]*["<]([^">]*)[">].*/\1 \2/')

# Of the project's files, those that begin with the first word include those alone that begin with one of
# the others, and none that begins with a word after a minus. The first line that fits a file is its rule.
# tools/ may include anything.
rules='
include             backdrop
base                base backdrop/status.h
linalg              base linalg backdrop -backdrop/separator.h
objects             base objects backdrop/api.h backdrop/status.h backdrop/components.h backdrop/tracker.h
separation          base linalg/shared separation backdrop
gpu/separation      base linalg/shared separation/shared gpu backdrop -gpu/video
gpu/video           base linalg/shared gpu video backdrop -gpu/separation -backdrop/separator.h
gpu                 base linalg/shared gpu backdrop -gpu/separation -gpu/video -backdrop/separator.h
backends            base linalg/shared separation/shared backends backdrop
lapack              base linalg/shared lapack backdrop -backdrop/separator.h
video               base video backdrop/status.h
app/bench/gpu       base video app gpu/cuda.h backdrop
app                 base video app gpu/video/device.h backdrop
tests/base          base tests/support backdrop
tests/public        tests/public tests/support backdrop
tests/linalg        base linalg tests/support backdrop -backdrop/separator.h
tests/objects       base objects video tests/objects tests/support backdrop
tests/separation    base linalg/shared separation video tests/separation tests/support backdrop
tests/lapack        base linalg/shared lapack tests/lapack tests/support backdrop
tests/video         base video tests/video tests/support backdrop/status.h
tests/app           base video app tests/app tests/support backdrop
tests/faults        base video tests/app tests/faults tests/support backdrop
tests/fuzz          base lapack/names.h video app tests/fuzz tests/public/calls tests/support backdrop
tests/gpu           base linalg separation gpu video app tests/gpu tests/support backdrop
tests/support       base linalg/shared tests/support backdrop
'
awk -v own='^(app|backdrop|backends|base|gpu|lapack|linalg|objects|separation|tests|tools|video)/' '
    function begins(name, start) { return index(name "/", start "/") == 1 }
    NR == FNR && NF { from[++count] = $1; allowed[count] = $0 }
    NR == FNR { next }
    $2 ~ own {
        for (rule = 1; rule <= count && !begins($1, from[rule]); rule++)
            ;
        words = split(allowed[rule], word)
        good = words == 0
        for (w = 2; w <= words; w++)
            if (begins($2, word[w]))
                good = 1
            else if (begins("-" $2, word[w])) {
                good = 0
                break
            }
        if (!good)
            print $1 " includes " $2
    }' <(echo "$rules") <(echo "$includes") |
    breaches 'includes that the rules of this script do not allow'

grep -E ' (cuda|cublas|cusolver|mma|nv)[^ ]*$' <<<"$includes" |
    grep -vE '^(gpu|app/bench/gpu|tests/gpu)/' |
    breaches 'only gpu/, app/bench/gpu/ and tests/gpu/ include headers of CUDA'

git ls-files | grep -oE '.*/' | sort -u | grep -v '^tests/fuzz/seeds/' | while read -r folder; do
    git ls-files --error-unmatch "${folder}README.md" >/dev/null 2>&1 || echo "$folder"
done | breaches 'folders without a README.md'

git ls-files -- '*/README.md' | while read -r readme; do
    lines=$(wc -l <"$readme")
    [ "$lines" -le 15 ] || echo "$readme: $lines lines"
done | breaches 'the README.md of a folder has at most 15 lines'

words=$(wc -w <README.md)
{ [ "$words" -le 1300 ] || echo "$words"; } | breaches 'README.md has more than 1300 words'

git ls-files -- '*CMakeLists.txt' | while read -r list; do
    sed -E 's/#.*//' "$list" | grep -noE '[^ ("]*/[^ ()"]*\.(c|cu|cpp)\b' | sed "s#^#$list:#"
done | breaches 'a CMakeLists.txt names the source files of its own folder only'

# A file of tests is a list of cases, which can be read one by one.
# shellcheck disable=SC2086
wc -l $sources | grep -v ' total$' | while read -r lines file; do
    most=460
    [[ $file == tests/* ]] && most=850
    [ "$lines" -le $most ] || echo "$file: $lines lines"
done | breaches 'files that are too long (460 lines; tests 850)'

exit $failed
