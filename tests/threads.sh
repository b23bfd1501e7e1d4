#!/usr/bin/env bash
# Runs what has several threads, built with -DBD_SANITIZE=thread in the folder BUILD:
#   threads.sh BUILD
# ThreadSanitizer tells of each data race on stderr, and makes the exit status 66.
set -eu
build=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export program=$build/backdrop
# Mesa's threads are not ours.
export SDL_RENDER_DRIVER=software SDL_FRAMEBUFFER_ACCELERATION=0

for name in pool status queue sections; do
    "$build/test_$name"
done
"$program" export 'synth:shake?size=160x120&frames=60' --threads 4 --progress none --mask mask.mkv \
    --foreground foreground.mov --background background.mp4 --overlay overlay.mp4 --plate plate.png \
    --events events.json --contact-sheet sheet.png
"$program" export 'synth:easy?size=160x120&frames=60' 'synth:noise?size=160x120&frames=60' nosuch.mp4 -o many \
    -j 2 --threads 4 --progress none --mask mask.mp4 --events .csv --clips clips || [ $? = 3 ]
"$program" export 'synth:easy?size=160x120&frames=30' 'synth:easy?size=160x120&frames=60' --join \
    --progress none --mask joined.mp4 --events joined.csv
"$program" eval 'synth:stop?frames=60&size=96x64' 'synth:noise?frames=60&size=96x64' -j 2 --threads 2 \
    --json result.json --contact-sheet worst.png --masks masks --progress none

# Keys of app/view/keys.c.
xvfb-run -a bash -euc '
    "$program" view "synth:easy?size=160x120" --window 10 --threads 3 --loop &
    child=$!
    timeout 60 xdotool search --sync --onlyvisible --name "^Backdrop - " windowfocus --sync >/dev/null
    timeout 60 xdotool key --delay 100 1 2 3 4 5 6 v o space period period space Right Left bracketright \
        bracketleft minus equal b b r f f h h s
    sleep 1
    timeout 60 xdotool key q
    wait "$child"'
echo "threads: no data race"
