#!/usr/bin/env bash
# The library as other programs get it: installs the build BUILD and checks the headers, the exported
# names, the SONAME, and C and C++ programs that are built against it by CMake and by pkg-config, with
# the shared and the static library. Of the source tree only installed/ is used, besides what BUILD
# installs: the C programs are the installed examples.
#   tests/public/installed.sh BUILD
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?the build folder}" && pwd) || exit 1
work=$build/installed-test
prefix=$work/prefix
failed=0

fail()
{
    echo "installed: $*" >&2
    failed=1
}

# cached NAME: whether the option NAME of the build is ON.
cached()
{
    grep -qx "$1:BOOL=ON" "$build/CMakeCache.txt"
}

# The installed headers need no other. That each compiles alone is checked by the test `headers`.
check_headers()
{
    local kind
    for kind in 'cc -x c -std=c11' 'c++ -x c++ -std=c++11'; do
        (cd "$prefix/include" && printf '#include <%s>\n' backdrop/*.h) |
            $kind -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" - ||
            fail "the installed headers do not compile by $kind"
    done
    if cached BD_SEPARATION; then
        [ -f "$prefix/include/backdrop/separator.h" ] || fail "separator.h is not installed"
    elif grep -rl separator "$prefix/include"; then
        fail "the library has no separator, but these headers mention it"
    fi
    ! grep -rniE 'inject|ablat|without_' "$prefix/include" ||
        fail "these headers name switches that are only for developers"
}

# What the headers declare with BD_API is what the shared library exports, no more and no less.
check_names()
{
    diff <(cat "$prefix"/include/backdrop/*.h | tr '\n' ' ' | grep -o 'BD_API [^(;]*(' |
        grep -o 'bd_[a-z0-9_]*(' | tr -d '(' | sort) \
        <(nm -D --defined-only "$library/libbackdrop.so" | awk '{ print $3 }' | sort) ||
        fail "<: declared but not exported; >: exported but not declared"
}

# Users of 0.1.x must not be given 0.2.0, which may change the interface.
check_soname()
{
    local version wanted
    version=$(pkg-config --modversion backdrop)
    wanted=libbackdrop.so.${version%.*}
    readelf -d "$library/libbackdrop.so" | grep -q "SONAME.*\[$wanted\]" ||
        fail "the SONAME of libbackdrop.so is not $wanted"
    [ "$(readlink -f "$library/$wanted")" = "$(readlink -f "$library/libbackdrop.so.$version")" ] ||
        fail "$wanted is not a link to libbackdrop.so.$version"
}

# A library for users has no switch that is only for developers, and no way to inject faults.
check_release()
{
    if cached BD_TESTS || cached BD_DEVELOPER; then
        return
    fi
    ! nm "$library/libbackdrop.a" 2>/dev/null | grep -iE ' [A-TV-Z] .*(inject|ablat|without)' ||
        fail "the library contains these functions, which are only for developers"
}

# run PROGRAM KIND: runs it, and fails if it is not linked with the library as it should be.
run()
{
    local needed
    "$1" cpu >"$work/output" 2>&1 || fail "$1 failed: $(tail -n 3 "$work/output")"
    needed=$(readelf -d "$1" | grep -c 'NEEDED.*libbackdrop')
    [ "$needed" = "$([ "$2" = shared ] && echo 1 || echo 0)" ] ||
        fail "$1 is not linked with the $2 library"
}

check_cmake_package()
{
    local kind program programs=(least_squares robust_pca sliding_least_squares)
    if cached BD_SEPARATION; then
        programs+=(live_separation)
    fi
    for kind in shared static; do
        if ! { cmake -S "$here/installed" -B "$work/$kind" -DCMAKE_PREFIX_PATH="$prefix" \
            -DBACKDROP=$kind -DEXAMPLES="$prefix/share/doc/backdrop/examples" &&
            cmake --build "$work/$kind"; } >"$work/$kind.log" 2>&1; then
            cat "$work/$kind.log" >&2
            fail "no programs by the CMake package with the $kind library"
            continue
        fi
        for program in "${programs[@]}"; do
            run "$work/$kind/$program" $kind
        done
    done
}

# compile COMPILER SOURCE KIND: by pkg-config.
compile()
{
    local flags
    if [ "$3" = shared ]; then
        flags="$(pkg-config --cflags --libs backdrop) -lm"
    else
        flags="-Wl,--as-needed -l:libbackdrop.a $(pkg-config --static --cflags --libs backdrop)"
    fi
    # shellcheck disable=SC2086
    if $1 -o "$work/program" "$2" $flags; then
        LD_LIBRARY_PATH=$library run "$work/program" "$3"
    else
        fail "$2 does not compile by pkg-config with the $3 library"
    fi
}

check_pkg_config()
{
    local kind
    for kind in shared static; do
        compile cc "$prefix/share/doc/backdrop/examples/robust_pca.c" $kind
        compile c++ "$here/installed/least_squares.cpp" $kind
    done
}

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || exit 1
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name backdrop.pc)")
export PKG_CONFIG_PATH
library=$(pkg-config --variable=libdir backdrop) || exit 1

check_headers
check_names
check_soname
check_release
check_cmake_package
check_pkg_config
exit $failed
