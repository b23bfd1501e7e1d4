#!/usr/bin/env bash
# Runs export and view for long on a source that restarts, changes its size and its clock, and export
# once into a file that may not grow. Writes soak/samples.csv, prints a table, and fails if memory or
# descriptors grow, if a program ends with a wrong status, or if frames are lost,
# but for the one that FFmpeg's decoder itself gives up where the size changes.
# The program tells no figure of the basis. What the basis makes is the background: that at the end is
# compared with that after one sender.
#   tools/soak.sh FRAMESf    export FRAMES frames, view a twentieth of them: 1000000f
#   tools/soak.sh HOURS      export for half of HOURS, then view for the other half: 0.1 at least
# The source is ffmpeg, one sender after another into a pipe: 3000 frames of MPEG-2 each, every third at
# another size, each with another time. Nothing is encoded meanwhile, so that frames come fast.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
program=$PWD/build/backdrop
folder=soak
round=3000      # frames of a sender
most_growth=16  # MiB, after warm-up; what is in flight varies by some
warm_up=30000   # frames: the window is full, and each size and clock has come
period=2        # seconds between samples
failed=0

case ${1:-} in
*f) frames=${1%f} hours=1000000 ;;
*) frames=1000000000 hours=${1:-} ;;
esac
if [[ ! $frames =~ ^[0-9]+$ || ! $hours =~ ^[0-9]+(\.[0-9]+)?$ ]]; then
    echo "usage: tools/soak.sh FRAMESf|HOURS" >&2
    exit 1
fi
mkdir -p $folder && cd $folder || exit 1
half=$(awk -v h="$hours" 'BEGIN { printf "%d", h * 1800 }') # seconds

breach()
{
    echo "soak: $*" >&2
    failed=1
}

make_chunks()
{
    local size
    for size in 160x120 128x96; do
        ffmpeg -nostdin -v error -y -i ../assets/street.mp4 -vf "scale=${size/x/:}" -c:v mpeg2video -q:v 3 \
            -bf 0 -frames:v 300 $size.nut || exit 1
    done
}

# send FRAMES SCALE END: senders until FRAMES or the time END; SCALE stretches time. `sent` counts. The last
# sender has the size of the first: the backgrounds can be compared. The clock of the third offset wraps
# around within the round (33 bits at 90 kHz); the others jump.
send()
{
    local sent=0 i=0 size last='' changes=0 offsets=(0 5000 95400 100)
    while { [ $sent -lt "$1" ] && [ "$(date +%s)" -lt "$3" ]; } || [ "$last" = 128x96 ]; do
        size=160x120
        [ $((i % 3)) = 1 ] && size=128x96
        ffmpeg -nostdin -v error -itsscale "$2" -stream_loop $((round / 300 - 1)) -i $size.nut -c copy \
            -output_ts_offset "${offsets[i % 4]}" -f mpegts - || break
        [ "$size" = "${last:-$size}" ] || changes=$((changes + 1))
        sent=$((sent + round)) i=$((i + 1)) last=$size
        echo $((sent - changes)) >sent
    done
}

# watch NAME PID: samples until PID ends. Frames are those of the last line of progress; view has none, so
# there they are what was sent.
watch()
{
    local begin=$SECONDS rss threads fds count
    while kill -0 "$2" 2>/dev/null; do
        rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$2/status" 2>/dev/null)
        threads=$(awk '/^Threads/ { print $2 }' "/proc/$2/status" 2>/dev/null)
        fds=$(find "/proc/$2/fd" -mindepth 1 2>/dev/null | wc -l)
        count=$(grep -oE '^[0-9]+ frames' "$1.log" | tail -n 1)
        [ "$1" = view ] && count=$(cat sent 2>/dev/null)
        [ -n "$rss" ] && echo "$1,$((SECONDS - begin)),${count%% *},$rss,$fds,$threads" >>samples.csv
        sleep $period
    done
}

# row NAME: a line of the table, from the samples after the warm-up.
row()
{
    local line
    line=$(awk -F, -v name="$1" -v warm="$warm_up" '
        $1 != name || $3 == "" { next }
        $3 < warm { at = $2; from = $3; next }
        !n++ { rss = most = $4; fds = most_fds = $5; threads = most_threads = $6 }
        { last = $4; seconds = $2; frames = $3 }
        $4 > most { most = $4 } $5 > most_fds { most_fds = $5 } $6 > most_threads { most_threads = $6 }
        END { if (n > 1)
            printf "%d %d %.1f %.1f %.1f %d %d %d %d", frames, (frames - from) / (seconds - at),
                   rss / 1024, most / 1024, last / 1024, fds, most_fds, threads, most_threads }' samples.csv)
    if [ -z "$line" ]; then
        breach "$1: too few samples after $warm_up frames"
        return
    fi
    # shellcheck disable=SC2086
    set -- "$1" $line
    printf '| %s | %s | %s | %s | %s | %s | %s to %s | %s to %s |\n' "$@"
    awk -v a="$4" -v b="$5" -v most=$most_growth 'BEGIN { exit b - a > most }' ||
        breach "$1: memory grew from $4 to $5 MiB"
    [ "$8" -le "$7" ] || breach "$1: descriptors grew from $7 to $8"
    [ "${10}" -le "$9" ] || breach "$1: threads grew from $9 to ${10}"
}

# export_all: one export of all frames; each frame sent has a mask, and the background stays.
export_all()
{
    local sent end=$(($(date +%s) + half))
    "$program" export - --mask mask.mkv --plate plate.png -y --progress plain \
        < <(send "$frames" 1 "$end") 2>export.log &
    watch export $!
    wait $! || breach "export: status $?: $(tail -n 1 export.log)"
    sent=$(cat sent)
    masks=$(ffprobe -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 mask.mkv)
    grep -q "^$sent frames in" export.log && [ "${masks%%,*}" = "$sent" ] ||
        breach "export: $sent frames sent, ${masks%%,*} masks, $(tail -n 1 export.log)"
    send $round 1 "$later" | "$program" export - --plate first.png -y -q || breach "export: a round"
    psnr=$(ffmpeg -nostdin -v info -i plate.png -i first.png -lavfi psnr -f null - 2>&1 |
        sed -n 's/.*average:\([^ ]*\).*/\1/p')
    awk -v p="$psnr" 'BEGIN { exit !(p == "inf" || p + 0 > 35) }' ||
        breach "export: the background drifted: $psnr dB from that after one round"
}

# full_disk: a file that may have 200 KiB: status 3, and what was written plays. Then all is well again.
full_disk()
{
    rm -f full.mkv*
    send $round 1 "$later" 2>/dev/null | (
        ulimit -f 200
        exec "$program" export - --mask full.mkv -q 2>full.log
    )
    local status=$?
    full=$(ffprobe -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 full.mkv 2>/dev/null)
    [ $status = 3 ] && [ "${full%%,*}" -gt 100 ] || breach "full: status $status, ${full%%,*} masks"
    send $round 1 "$later" | "$program" export - --mask full.mkv -y -q || breach "full: not well again"
    full="${full%%,*}, then $(ffprobe -v error -count_packets -show_entries stream=nb_read_packets \
        -of csv=p=0 full.mkv)"
}

# view_some: a twentieth of the frames at 1250 a second, then SIGTERM. What is drawn is a matter of time;
# that each frame is separated is not.
view_some()
{
    local status seen sent end=$(($(date +%s) + half)) tail=30
    rm -f sent all_sent
    SDL_VIDEODRIVER=dummy SDL_RENDER_DRIVER=software "$program" view - -v \
        < <(send $((frames / 20)) .02 "$end"; touch all_sent) 2> >(grep -v '@ 0x' >view.log) &
    local pid=$!
    # What waits in the pipe and in the queue takes some seconds to be shown.
    (
        while kill -0 $pid 2>/dev/null && ! [ -e all_sent ]; do sleep 1; done
        sleep $tail
        kill -TERM $pid
    ) &
    watch view $pid
    wait $pid
    status=$?
    sleep 1
    [ $status = 4 ] || breach "view: status $status: $(tail -n 1 view.log)"
    sent=$(cat sent)
    seen=$(sed -n 's/^.*backdrop: \([0-9]*\) frames were separated.*/\1/p' view.log)
    [ "$seen" = "$sent" ] || breach "view: $sent frames sent, ${seen:-none} separated"
    views="$seen of $sent"
}

make_chunks
later=9999999999 # a time that does not come
echo "program,seconds,frames,rss_kib,descriptors,threads" >samples.csv
rm -f sent
export_all
full_disk
view_some
echo "| program | frames | frames/s | MiB after $warm_up | at most | at the end | descriptors | threads |"
echo "|---|---|---|---|---|---|---|---|"
row export
row view
echo
echo "Masks: $masks. Background: $psnr dB from that after one round. Full: $full masks. View separated $views."
echo "$(date -u '+%F %H:%M UTC'), $("$program" --version), $("$program" info | sed -n '/^CPU/{n;s/^ *//p}')"
exit $failed
