#!/usr/bin/env bash
# What cmake/Hardening.cmake asks for is in the built files:
#   hardening.sh program FILE [library FILE...]
# Fails where a file lacks RELRO, BIND_NOW, the stack protector or checked calls of the C library, or where
# a program has a fixed address. Skipped (77) for files of sanitizer builds.
set -u
failed=0
while [ $# -ge 2 ]; do
    kind=$1 file=$2
    shift 2
    if ! elf=$(LC_ALL=C readelf --wide --file-header --program-headers --dynamic --dyn-syms "$file"); then
        exit 1
    fi
    if grep -q '__[at]san_init' <<<"$elf"; then
        echo "skipped: a sanitizer build"
        exit 77
    fi
    wanted=('GNU_RELRO' 'FLAGS_1.*\<NOW\>' '__stack_chk_fail' '__(v?snprintf|v?fprintf|printf|memcpy|memset)_chk')
    if [ "$kind" = program ]; then
        wanted+=('Type: +DYN' 'FLAGS_1.*\<PIE\>')
    fi
    for pattern in "${wanted[@]}"; do
        if ! grep -qE "$pattern" <<<"$elf"; then
            echo "$file: readelf does not show $pattern" >&2
            failed=1
        fi
    done
done
exit $failed
