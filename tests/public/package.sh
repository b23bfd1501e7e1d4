#!/usr/bin/env bash
# Makes the Debian package, installs it below an empty folder, runs the program there, removes the package,
# and looks that nothing is left.
#   package.sh BUILD VERSION
set -eu
build=$1 version=$2
if [ "$(id -u)" != 0 ] || ! command -v dpkg-shlibdeps >/dev/null || ! command -v file >/dev/null; then
    echo "skipped: dpkg installs for root alone, and packages need dpkg-dev and file"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$build" && cpack -B "$folder" >/dev/null)
package=("$folder"/backdrop_"$version"_*.deb)

field()
{
    dpkg-deb -f "${package[0]}" "$1"
}
[ "$(field Version)" = "$version" ]
for library in libavformat libopenblas libsdl2; do
    field Depends | grep -q "$library" || { echo "package: does not depend on $library" >&2; exit 1; }
done

root=$folder/root
mkdir -p "$root"/var/lib/dpkg/{updates,info,triggers}
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
manage()
{
    dpkg --root="$root" --force-depends --force-script-chrootless --log="$folder/log" "$@" >"$folder/out" 2>&1 ||
        { cat "$folder/out" >&2; exit 1; }
}
manage -i "${package[0]}"
"$root/usr/bin/backdrop" --version | grep -q "^backdrop $version "
"$root/usr/bin/backdrop" export 'synth:easy?frames=20&size=64x48' --mask "$folder/m.mkv" -q
for file in man/man1/backdrop.1 bash-completion/completions/backdrop zsh/vendor-completions/_backdrop; do
    [ -s "$root/usr/share/$file" ] || { echo "package: no $file" >&2; exit 1; }
done
manage -r backdrop
left=$(find "$root" -path "$root/var/lib/dpkg" -prune -o \( -type f -o -type l \) -print)
[ -z "$left" ] || { echo "package: left behind: $left" >&2; exit 1; }
