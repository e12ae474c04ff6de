#!/bin/sh
# Builds both images of a release by buildah, without a registry, and lets their own commands run:
#   sh tests/deploy/containers.sh dist/lpirc-1.0.0 /var/cache/lpirc-referee/trixie-bare
# The second folder is the base: a minimal Debian as `make test-on` keeps them. Where pip or apt need settings to reach
# the network, put them into a copy of it first. Needs root; what is built stays in $STORE.
set -eu
release=$1 system=$2
STORE=${STORE:-/var/tmp/lpirc-images}
b() { buildah --storage-driver overlay --root "$STORE/root" --runroot "$STORE/run" "$@"; }

base=$(b from scratch)
tar -C "$system" -cf - . | tar -C "$(b mount "$base")" -xf -
b umount "$base" >/dev/null
b commit --rm "$base" localhost/debian-base
for target in referee front; do
    b bud --isolation chroot --format docker --build-arg BASE=localhost/debian-base --target $target --tag lpirc-$target "$release"
done

referee=$(b from localhost/lpirc-referee)
b inspect --format '{{.Docker.Config.User}} {{.Docker.Config.Healthcheck}}' "$referee"
b run --isolation chroot "$referee" -- sh -euc '
    [ "$(id -u)" != 0 ] && ! touch /opt/lpirc/x 2>/dev/null
    referee init /var/lib/referee/day --yes
    referee serve /var/lib/referee/day --port 18080 >/tmp/log 2>&1 &
    for try in $(seq 100); do
        python -c "import urllib.request as r; r.urlopen(\"http://127.0.0.1:18080/v1/health\", timeout=5)" 2>/dev/null && exit
        sleep 0.5
    done
    cat /tmp/log
    exit 1'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 1 -subj /CN=referee \
    -keyout "$STORE/referee.key" -out "$STORE/referee.crt" 2>/dev/null
front=$(b from localhost/lpirc-front)
b run --isolation chroot -v "$STORE/referee.crt:/etc/nginx/referee.crt:ro" -v "$STORE/referee.key:/etc/nginx/referee.key:ro" \
    "$front" -- nginx -t
b rm "$referee" "$front" >/dev/null
echo "both images were built, and their commands ran"
