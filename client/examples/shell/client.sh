#!/bin/sh
# A whole run with a POSIX shell, curl and unzip: sh client.sh URL TEAM PASSWORD_FILE [FIRST_IMAGE]
set -u

batch=20       # images a request and a POST; near the end of the window 1
near_end_s=10
reach_s=30     # how long to try to reach the referee before the window is known

# What a team replaces: detect IMAGE FILE prints a line for each object: image, category, confidence, xmin, ymin, xmax,
# ymax, in inclusive pixels. This one reports one object of the first category, as large as the image, whose size it
# reads in the JPEG header: `start` is where the segment begins whose marker, length and content follow.
detect() {
    od -An -v -tu1 "$2" | awk -v image="$1" -v category="$category" '
        BEGIN { start = 2 }
        {
            for (i = 1; i <= NF; i++) {
                at = place++ - start
                if (at == 1 && $i == 255) start++
                else if (at == 1) frame = $i >= 192 && $i <= 207 && $i != 196 && $i != 200 && $i != 204
                else if (at == 2) length_ = 256 * $i
                else if (at == 3 && !frame) start += 2 + length_ + $i
                else if (at == 5) height = 256 * $i
                else if (at == 6) height += $i
                else if (at == 7) width = 256 * $i
                else if (at == 8) {
                    print image, category, 0.5, 0, 0, width + $i - 1, height - 1
                    found = 1
                    exit
                }
            }
        }
        END { exit !found }'
}

say() { printf 'client: %s\n' "$*" >&2; }

fail() {
    say "$1"
    [ "${code-}" != window-closed ] || exit 0
    [ -z "${done_-}" ] || say "the run stays open: while its window lasts, FIRST_IMAGE $((done_ + 1)) continues"
    exit 1
}

now() { date +%s; }

# A member of the last answer, which is JSON in one line; of several with that name the last.
member() { sed -n -E 's/.*"'"$1"'" *: *("(([^"\\]|\\.)*)"|([^],}]*)).*/\2\4/p' "$work/answer"; }

# A header field of the last answer.
field() { tr -d '\r' <"$work/head" | awk -F ': *' -v name="$1" 'tolower($1) == name { print $2 }'; }

# request CURL_ARGUMENTS... leaves the answer in $work/answer. It asks again as long as the window lasts, where that can
# help; otherwise it returns 1 with the reason in $code and $detail.
request() {
    pause=1 said=
    while :; do
        : >"$work/head"
        status=$(curl -sS --noproxy '*' --connect-timeout 5 --speed-limit 1 --speed-time 30 -H "@$work/token" \
            -D "$work/head" -o "$work/answer" -w '%{http_code}' "$@" 2>"$work/error") || status=broken
        left_ms=$(field x-window-remaining-ms)
        [ -z "$left_ms" ] || end=$(($(now) + left_ms / 1000))
        wait=$(field retry-after)
        case $status in
        2??) return 0 ;;
        broken) code=no-answer detail=$(cat "$work/error") wait=$pause ;;
        *) code=$(member code) detail=$(member detail) ;;
        esac
        case $status in 502 | 504) wait=${wait:-$pause} ;; esac
        [ -n "$code" ] || code=not-a-referee detail="$url answered status $status"
        { [ -n "$wait" ] && [ $(($(now) + wait)) -lt "$end" ]; } || return 1
        [ "$said" = "$detail" ] || say "$code: $detail"
        said=$detail
        sleep "$wait"
        pause=$((pause < 3 ? 2 * pause : 5))
    done
}

# Opens the run, waiting until it is armed and started.
login() {
    printf '{"team": "%s", "password": "%s"}' "$(json_text "$1")" "$(json_text "$(head -n 1 "$2")")" >"$work/login"
    waiting=
    while :; do
        end=$(($(now) + reach_s))
        request -H 'Content-Type: application/json' --data-binary "@$work/login" "$url/v1/session" && return
        case $code in
        not-armed | not-started) [ -n "$waiting" ] || say "$code: $detail Waiting; Ctrl-C ends it." ;;
        *) fail "$code: $detail" ;;
        esac
        waiting=yes
        sleep 1
    done
}

json_text() { printf '%s' "$1" | sed 's/["\\]/\\&/g'; }

# post FILE hands in lines of seven numbers; by their key they count once, however often they are sent.
post() {
    [ -s "$1" ] || return 0
    key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    request -H 'Content-Type: text/plain' -H "Idempotency-Key: $key" --data-binary "@$1" "$url/v1/detections" ||
        fail "$code: $detail"
    sum=$(sha256sum <"$1")
    [ "$(member sha256)" = "${sum%% *}" ] || fail "the referee received other bytes than were sent"
    ! grep -q '"warnings"' "$work/answer" || say "$(cat "$work/answer")"
}

[ $# -ge 3 ] && [ -r "$3" ] || fail 'usage: client.sh URL TEAM PASSWORD_FILE [FIRST_IMAGE]; the password is a line'
umask 077
url=${1%/} first=${4:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
: >"$work/token"

login "$2" "$3"
images=$(member images)
category=$(sed -E 's/.*"categories" *: *\[ *\{[^}]*"id" *: *([0-9]+).*/\1/' "$work/answer")
printf 'Authorization: Bearer %s\n' "$(member token)" >"$work/token"
say "run $(member run): $images images"
done_=$((first - 1))
while [ "$first" -le "$images" ]; do
    count=$batch
    [ $((end - $(now))) -gt $near_end_s ] || count=1
    last=$((first + count > images ? images : first + count - 1))
    request "$url/v1/images?first=$first&count=$count" || fail "$code: $detail"
    unzip -q -o "$work/answer" -d "$work" || fail "images $first to $last did not arrive as a zip"
    : >"$work/rows"
    image=$first
    while [ "$image" -le "$last" ]; do
        detect "$image" "$work/$image.jpg" >>"$work/rows" || fail "image $image: not a JPEG file with a frame header"
        rm "$work/$image.jpg"
        image=$((image + 1))
    done
    post "$work/rows"
    done_=$last first=$((last + 1))
    say "image $done_ of $images, $((end - $(now))) s left"
done
request -X DELETE "$url/v1/session" || fail "$code: $detail"
say "logged out after $(member elapsed_s) s; $(member energy_wh) Wh"
