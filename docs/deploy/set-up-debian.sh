#!/bin/sh
# From a bare Debian (12 or newer) to a contest that nginx serves behind TLS. As root:
#
#   sh set-up-debian.sh FROM [NAME ...]
#
# FROM is a checkout of the project, or the folder of a release that you have verified. NAME is a name or an address of
# this machine that boards will use; the certificate is made for all of them. A second run changes only what is missing,
# and installs the project again. What it does is on the page bare-debian.md.
set -eu

HOME_OF_PROJECT=/opt/lpirc
HOME_OF_CONTEST=/var/lib/referee
CONTEST=$HOME_OF_CONTEST/day
REFEREE=$HOME_OF_PROJECT/.venv/bin/referee
DAYS=365

say() { echo "== $*"; }
refuse() { echo "set-up-debian.sh: $*" >&2; exit 2; }

# Has a process of this system, not one of a container, this in its command line? A bare Debian has no pgrep.
runs() {
    for process in /proc/[0-9]*; do
        case $(tr '\0' ' ' 2>/dev/null <"$process/cmdline") in
            *"$1"*) [ "$process/root" -ef / ] && return 0 ;;
        esac
    done
    return 1
}

[ $# -ge 1 ] || refuse "name the checkout or the release: sh set-up-debian.sh FROM [NAME ...]"
FROM=$1
shift
case $FROM in
    -*) refuse "$FROM is no folder, and there are no options: sh set-up-debian.sh FROM [NAME ...]" ;;
esac
for name in "$@"; do
    case $name in
        */*) refuse "'$name' is a URL or a path; give its name alone, such as referee.example.org" ;;
        *.*:* | *:*[!0-9A-Fa-f:.]*) refuse "'$name' has a port; give its name alone, such as referee.example.org" ;;
        '' | -* | *[!0-9A-Za-z.:*_-]*) refuse "'$name' is no name or address of a machine, such as referee.example.org" ;;
        *[!0-9.]*) ;;
        *) echo "$name" | grep -Eqx '((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])' \
            || refuse "'$name' is no address: it has four numbers from 0 to 255, as 192.168.1.10" ;;
    esac
done
[ "$(id -u)" = 0 ] || refuse "only root can set up a machine: run it by sudo"
command -v apt-get >/dev/null || refuse "this is not Debian: it has no apt-get; follow README.md beside this file by hand"
if [ -f "$FROM/Makefile" ] && [ -d "$FROM/referee" ]; then
    kind=checkout
elif [ -f "$FROM/requirements.txt" ] && [ -f "$FROM/SHA256SUMS" ]; then
    kind=release
else
    refuse "$FROM is neither a checkout (Makefile) nor a release (requirements.txt, SHA256SUMS)"
fi
if [ -f /etc/nginx/nginx.conf ] && ! grep -q "LPIRC referee" /etc/nginx/nginx.conf \
    && [ -n "$(ls /etc/nginx/sites-enabled 2>/dev/null | grep -vx default)" ]; then
    refuse "nginx serves other sites here (/etc/nginx/sites-enabled): take a machine of its own, or follow README.md"
fi

say "packages"
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
    make python3-venv nginx-light nftables openssl bubblewrap

say "the project, in $HOME_OF_PROJECT"
mkdir -p "$HOME_OF_PROJECT"
if [ $kind = checkout ]; then
    if [ "$(cd "$FROM" && pwd -P)" != "$HOME_OF_PROJECT" ]; then
        (cd "$FROM" && tar -cf - --exclude=./.venv --exclude=./build --exclude=./dist .) | tar -xf - -C "$HOME_OF_PROJECT" --no-same-owner
    fi
    (cd "$HOME_OF_PROJECT" && make setup)
else
    (cd "$FROM" && sha256sum --check --quiet --strict SHA256SUMS)
    python3 -m venv "$HOME_OF_PROJECT/.venv"
    (cd "$FROM" && "$HOME_OF_PROJECT/.venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r requirements.txt)
fi
chmod -R go+rX "$HOME_OF_PROJECT"
DEPLOY=$("$HOME_OF_PROJECT/.venv/bin/python" -c 'import pathlib, referee; print(pathlib.Path(referee.__file__).parent / "documents/deploy")')

say "the contest, in $CONTEST"
getent passwd referee >/dev/null || useradd --system --home-dir "$HOME_OF_CONTEST" --create-home --shell /usr/sbin/nologin referee
install -d -o referee -g referee -m 0700 "$HOME_OF_CONTEST"
if [ ! -e "$CONTEST/contest.toml" ]; then
    (cd "$HOME_OF_CONTEST" && runuser -u referee -- "$REFEREE" init day --yes)
fi
grep -q '^trusted_proxy' "$CONTEST/contest.toml" || runuser -u referee -- sed -i '1i trusted_proxy = ["127.0.0.1"]' "$CONTEST/contest.toml"

say "the certificate"
kind_of() {
    case $1 in
        *:*) echo IP ;; # version 6
        *[!0-9.]*) echo DNS ;;
        *) echo IP ;;
    esac
}
if [ -e /etc/nginx/referee.key ]; then
    echo "It is kept as it is."
    missing=
    for name in "$@"; do
        check=-checkhost
        [ "$(kind_of "$name")" = DNS ] || check=-checkip
        case $(openssl x509 -in /etc/nginx/referee.crt -noout $check "$name") in
            *"does match"*) ;;
            *) missing="$missing $name" ;;
        esac
    done
    [ -z "$missing" ] || echo "It is not for$missing. For another one, which boards must get again: rm /etc/nginx/referee.key, and run this again."
else
    names="DNS:$(hostname),DNS:localhost,IP:127.0.0.1"
    for name in "$@"; do
        names="$names,$(kind_of "$name"):$name"
    done
    echo "It is for $names."
    (umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days $DAYS \
        -subj /CN=referee -addext "subjectAltName=$names" -keyout /etc/nginx/referee.key -out /etc/nginx/referee.crt 2>/dev/null) \
        || {
            rm -f /etc/nginx/referee.key /etc/nginx/referee.crt
            refuse "openssl makes no certificate for $names; correct the names"
        }
    chmod 644 /etc/nginx/referee.crt
fi

say "nginx, in front"
if ! grep -q "LPIRC referee" /etc/nginx/nginx.conf; then
    cp /etc/nginx/nginx.conf /etc/nginx/nginx.conf.before-lpirc
    cp "$DEPLOY/nginx.conf" /etc/nginx/nginx.conf
fi
cp "$DEPLOY/referee-http.conf" "$DEPLOY/referee-server.conf" /etc/nginx/
nginx -t -q

say "the firewall: at most 500 connections of one address"
if ! grep -q 'table inet referee' /etc/nftables.conf 2>/dev/null; then
    cat >>/etc/nftables.conf <<'END'

table inet referee {
    set clients {
        type ipv4_addr
        size 65535
        flags dynamic
    }
    chain input {
        type filter hook input priority filter
        tcp dport { 80, 443 } ct state new add @clients { ip saddr ct count over 500 } reject with tcp reset
    }
}
END
fi

say "the services"
install -d /etc/systemd/system
cp "$DEPLOY/referee.service" /etc/systemd/system/
if [ ! -d /run/systemd/system ]; then
    echo "No systemd runs here."
    if runs "$REFEREE serve"; then
        echo "The referee runs already; to take what is new, end it by Ctrl-C and start it again:"
    else
        echo "Start the referee yourself:"
    fi
    echo "  runuser -u referee -- $REFEREE serve $CONTEST --host 127.0.0.1 --port 8080"
    if runs "nginx: master process"; then
        echo "nginx runs already; to take what is new:"
        echo "  nginx -s reload"
    else
        echo "Start nginx yourself:"
        echo "  nginx"
    fi
    echo "Then ask, from a board that has a copy of /etc/nginx/referee.crt:"
    echo "  curl --cacert referee.crt https://${1:-$(hostname)}/v1/health"
    exit 0
fi
systemctl daemon-reload
systemctl enable --quiet referee nginx nftables
systemctl restart referee nginx
systemctl restart nftables || echo "nftables does not start here (systemctl status nftables): nginx alone limits connections"

say "does it answer?"
"$HOME_OF_PROJECT/.venv/bin/python" - <<'END'
import json, ssl, sys, time, urllib.request
trust = ssl.create_default_context(cafile="/etc/nginx/referee.crt")
until = time.monotonic() + 60
while True:
    try:
        with urllib.request.urlopen("https://localhost/v1/health", context=trust, timeout=5) as answer:
            print("https://localhost/v1/health:", json.load(answer)["status"])
            break
    except OSError as error:
        if time.monotonic() > until:
            sys.exit(f"https://localhost/v1/health does not answer: {error}; look at journalctl -u referee -u nginx")
        time.sleep(0.5)
END
