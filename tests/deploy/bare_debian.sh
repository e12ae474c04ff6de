#!/bin/sh
# docs/deploy/set-up-debian.sh on a bare Debian, in a checkout, as root; then a whole run of a team through TLS.
#   make test-on SUITE=trixie ARGS='--only bare --user root --run "sh tests/deploy/bare_debian.sh"'
# No systemd runs there: both programs are started as the script says, in a network of their own.
set -eu
if [ "${1:-}" != served ]; then
    # A mirror may be a snapshot of some weeks ago.
    echo 'Acquire::Check-Valid-Until "false";' >/etc/apt/apt.conf.d/99snapshot
    state() { sha256sum /etc/nginx/nginx.conf /etc/nginx/referee.* /etc/nftables.conf /var/lib/referee/day/contest.toml /etc/passwd; }
    sh docs/deploy/set-up-debian.sh . board.example.org 192.168.1.2 2001:db8::2
    state >/tmp/first
    sh docs/deploy/set-up-debian.sh . >/tmp/second.log 2>&1
    state | diff /tmp/first -
    openssl x509 -in /etc/nginx/referee.crt -noout -ext subjectAltName | tee /tmp/names
    for name in DNS:board.example.org 'IP Address:192.168.1.2' 'IP Address:2001:DB8'; do grep -q "$name" /tmp/names; done
    exec unshare --net sh "$0" served
fi

python3 - <<'END'
import fcntl, socket, struct
with socket.socket() as one:
    fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", 0x49))  # SIOCSIFFLAGS: up, loopback, running
END
as_referee() { runuser -u referee -- "$@"; }
programs=/opt/lpirc/.venv/bin
day=/var/lib/referee/day
cd /var/lib/referee
as_referee $programs/referee serve $day --host 127.0.0.1 --port 8080 2>/tmp/referee.log &
nginx
echo correct-horse-battery >/var/lib/referee/password
chown referee /var/lib/referee/password && chmod 600 /var/lib/referee/password
as_referee $programs/python - <<'END'
import ssl, time, urllib.request
trust = ssl.create_default_context(cafile="/etc/nginx/referee.crt")
until = time.monotonic() + 120
while True:
    try:
        with urllib.request.urlopen("https://localhost/v1/health", context=trust, timeout=10) as answer:
            print(answer.read().decode())
            break
    except OSError:
        if time.monotonic() > until:
            raise
        time.sleep(0.2)
END
as_referee $programs/referee team add alpha --contest $day --password-file /var/lib/referee/password
as_referee $programs/referee run arm alpha --contest $day
as_referee $programs/lpirc-client run https://localhost --ca-cert /etc/nginx/referee.crt --team alpha --password-file /var/lib/referee/password
as_referee $programs/referee judge --all --contest $day
as_referee $programs/referee leaderboard --contest $day
