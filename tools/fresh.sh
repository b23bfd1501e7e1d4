#!/usr/bin/env bash
# Runs the two commands of README.md on fresh systems: each is a folder that debootstrap fills, with this
# commit and nothing else. Needs root, debootstrap, and some 4 GB for each system.
#   tools/fresh.sh [SUITE...]    of bookworm, jammy, noble (all of them)
# COMMANDS='demo' runs that one alone. Says in a line what could not be done, and goes on; the exit status is
# 0 if all was done.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
commands=${COMMANDS:-demo test}
failed=0
root=
scratch=

say()
{
    printf 'fresh: %s\n' "$*"
}

# What is mounted there is not ours to delete.
clean()
{
    if [ -n "$root" ]; then
        if mountpoint -q "$root/proc" && ! umount "$root/proc"; then
            say "$root/proc cannot be unmounted: $scratch stays" >&2
            return
        fi
        root=
    fi
    rm -rf "$scratch"
}

# mirror_of SUITE
mirror_of()
{
    case $1 in
    bookworm) echo http://deb.debian.org/debian ;;
    jammy | noble) echo http://archive.ubuntu.com/ubuntu ;;
    esac
}

# in_root COMMAND...: there, with no variable of ours.
in_root()
{
    env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
}

# try SUITE: 1 if something could not be done.
try()
{
    local suite=$1 mirror command
    mirror=$(mirror_of "$suite")
    if [ -z "$mirror" ]; then
        say "$suite: no such suite here; there are bookworm, jammy, noble" >&2
        return 1
    fi
    # A debootstrap that is older than the suite makes it as it makes the suite before.
    local script=/usr/share/debootstrap/scripts/$suite
    if [ ! -e "$script" ] && [ "$mirror" != http://deb.debian.org/debian ]; then
        script=/usr/share/debootstrap/scripts/jammy
    fi
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/backdrop-fresh.XXXXXX") || return 1
    root=$scratch/root
    say "$suite: making the system, from $mirror"
    if ! debootstrap --variant=minbase "$suite" "$root" "$mirror" "$script" >"$scratch/log" 2>&1; then
        say "$suite: not run: debootstrap failed: $(grep -E '^[EW]:' "$scratch/log" | tail -n 1)" >&2
        return 1
    fi
    if [ "$suite" != bookworm ]; then # Ubuntu has most libraries in universe
        echo "deb $mirror $suite main universe" >"$root/etc/apt/sources.list"
    fi
    if ! mount -t proc proc "$root/proc" 2>/dev/null; then
        say "$suite: /proc cannot be mounted here: what reads it may fail"
    fi
    mkdir "$root/backdrop"
    git archive HEAD | tar -x -C "$root/backdrop"
    for command in $commands; do
        say "$suite: ./bootstrap $command"
        # shellcheck disable=SC2016
        if ! in_root sh -c 'cd /backdrop && exec ./bootstrap "$1" --yes' sh "$command" </dev/null \
            >"$scratch/log" 2>&1; then
            local kept=${TMPDIR:-/tmp}/backdrop-fresh-$suite-$command.log
            mv "$scratch/log" "$kept"
            tail -n 40 "$kept" >&2
            say "$suite: ./bootstrap $command FAILED; all of its output is in $kept" >&2
            return 1
        fi
        tail -n 8 "$scratch/log"
        say "$suite: ./bootstrap $command passed"
    done
}

if [ "$(id -u)" != 0 ]; then
    say "only root can make a system and enter it: sudo tools/fresh.sh" >&2
    exit 1
fi
if ! command -v debootstrap >/dev/null; then
    say "debootstrap is missing: apt-get install debootstrap" >&2
    exit 1
fi
if [ $# = 0 ]; then
    set -- bookworm jammy noble
fi
trap clean EXIT
for suite in "$@"; do
    try "$suite" || failed=1
    clean
done
exit $failed
