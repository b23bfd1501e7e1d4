#!/usr/bin/env bash
# Checks every Markdown page of the repository: links lead to files that exist, files and folders that
# are named in `backticks` exist, and no sentence has more than 30 words. Prints each breach, and fails
# where there is one. Names with capitals, as in gpu/ROOM/NAME.cu, stand for others.
#
#   tools/check_docs.sh [PAGE...]      all pages but the generated docs/measurements*.md, or PAGE...
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
most_words=30
failed=0
pages=("$@")
[ $# -gt 0 ] || mapfile -t pages < <(git ls-files -- '*.md' ':!docs/measurements*')

breach()
{
    printf 'docs: %s\n' "$*" >&2
    failed=1
}

# exists PAGE NAME: whether NAME is there, seen from the page's folder, the root or include/. NAME may
# have * and {a,b}, and nothing else that the shell would run.
exists()
{
    local names name place found
    set -f
    eval "names=($2)"
    set +f
    for name in "${names[@]}"; do
        found=''
        for place in "$(dirname "$1")/$name" "$name" "include/$name"; do
            compgen -G "$place" >/dev/null && found=1 && break
        done
        [ -n "$found" ] || return 1
    done
}

# The text without code blocks, which are fenced or indented.
prose()
{
    awk '/^```/ { fenced = !fenced; next } !fenced && !/^(    |\t)/' "$1"
}

rooms='(app|assets|backends|base|cmake|docs|examples|gpu|include|lapack|linalg|separation|tests|tools|video)'
for page in "${pages[@]}"; do
    while read -r link; do
        exists "$page" "$link" || breach "$page links to $link, which does not exist"
    done < <(prose "$page" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//; s/#.*//' |
        grep -E '^[A-Za-z0-9_./-]+$')

    # shellcheck disable=SC2016
    while read -r name; do
        exists "$page" "$name" || breach "$page names $name, which does not exist"
    done < <(prose "$page" | grep -oE '`[^`]+`' | tr -d '`' |
        grep -E '^[A-Za-z0-9_./*{},-]+$' |
        grep -E "^($rooms/.*|\.ci/.*|[a-z_/]+\.(c|h|cu|cuh|inc|sh|svg|md|txt))$" |
        grep -vE '[A-Z]{2}|:|^(api|status)\.h$' | sort -u)

    while read -r sentence; do
        breach "$page: more than $most_words words: $sentence"
    done < <(prose "$page" | grep -vE '^ *\||^#|^ *!\[' |
        awk '/^ *([-*]|[0-9]+\.) / || !NF { print ""; print ""; sub(/^ *([-*]|[0-9]+\.) /, "") }
             { printf "%s ", $0 } END { print "" }' |
        sed -E 's/([.!?:;])([*_)"]*) +/\1\2\n/g' |
        awk -v most=$most_words 'NF > most')
done
exit $failed
