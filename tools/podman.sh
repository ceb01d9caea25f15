#!/bin/sh
# A container engine for the tests, on a Debian machine: installs Podman, starts its service that speaks the
# Docker API, and builds the two base images. Prints the variables to use, and nothing else, when all went well:
#
#     eval "$(tools/podman.sh)"        start, or find what runs already
#     tools/podman.sh images           the same, and build soundstage/agent and soundstage/harness (a minute or two)
#     tools/podman.sh stop             end the service; images and settings stay for the next time
#     tools/podman.sh start FOLDER     keep everything in FOLDER instead of .cache/podman
#
# Nothing is taken from a registry of images: one base image is a static busybox, the other is made of Debian packages
# from the mirror that this machine uses. The engine is kept apart from one that the machine may have: settings, images
# and socket of its own.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
action=${1:-start}
folder=${2:-$here/.cache/podman}
packages="podman runc netavark aardvark-dns catatonit iptables debootstrap busybox-static"

fail() { echo "tools/podman.sh: $*" >&2; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# Run quietly; on failure show what was said.
quietly() {
    what=$1; shift
    said=$("$@" 2>&1 </dev/null) || { echo "$said" | tail -n 30 >&2; fail "$what failed"; }
}

install_packages() {
    command -v apt-get >/dev/null || fail "this is no Debian machine: install Podman 4 or Docker yourself"
    missing=
    for package in $packages; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' || missing="$missing $package"
    done
    [ -z "$missing" ] && return
    as_root true 2>/dev/null || fail "to install$missing, be root or have sudo without a password"
    quietly "apt-get update" as_root apt-get update -qq
    quietly "installing$missing" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $missing
}

# runc, because crun refuses machines with both kinds of cgroups; explicit limits, because raising them may not be
# permitted; netavark, because with it containers find each other by name.
write_settings() {
    cat >"$folder/containers.conf" <<END
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[network]
network_backend = "netavark"
network_config_dir = "$folder/networks"
END
    cat >"$folder/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$folder/storage"
runroot = "$folder/run"
END
}

answers() { [ -S "$socket" ] && podman --url "unix://$socket" version >/dev/null 2>&1; }

start_service() {
    answers && return
    rm -f "$socket"
    setsid podman system service --time=0 "unix://$socket" >"$folder/service.log" 2>&1 </dev/null &
    echo $! >"$folder/service.pid"
    tries=0
    until answers; do
        kill -0 "$(cat "$folder/service.pid")" 2>/dev/null || { tail -n 20 "$folder/service.log" >&2; fail "the service ended"; }
        tries=$((tries + 1))
        [ $tries -lt 100 ] || fail "the service does not answer; see $folder/service.log"
        sleep 0.1
    done
}

stop_service() {
    [ -f "$folder/service.pid" ] || return 0
    pid=$(cat "$folder/service.pid")
    if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "system service.*$socket"; then
        kill "$pid" && timeout 20 tail -s 0.1 --pid="$pid" -f /dev/null || true
    fi
    rm -f "$folder/service.pid" "$socket"
}

# Podman mounts this folder onto itself and leaves it so: then it cannot be removed.
unmount_storage() {
    if mountpoint -q "$folder/storage/overlay"; then as_root umount "$folder/storage/overlay" || true; fi
}

has_image() { podman image exists "localhost/$1"; }

build_busybox() {
    has_image soundstage/busybox && return
    context=$(mktemp -d)
    cp "$(command -v busybox)" "$context/busybox"
    printf 'FROM scratch\nCOPY busybox /bin/busybox\nRUN ["/bin/busybox", "--install", "-s", "/bin"]\n' >"$context/Dockerfile"
    quietly "building soundstage/busybox" podman build --quiet --tag soundstage/busybox "$context"
    rm -r "$context"
}

build_debian() {
    has_image soundstage/debian && return
    mirror=$(apt-get indextargets --format '$(SITE)' | head -n 1)
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    root=$folder/debian
    as_root rm -rf "$root"
    quietly "debootstrap from $mirror" as_root debootstrap --variant=minbase \
        --include=ca-certificates,curl,git,python3,python3-pytest,python3-venv "$release" "$root" "$mirror"
    as_root tar -C "$root" --exclude=./var/cache/apt --exclude=./var/lib/apt/lists -c . |
        podman import --quiet - soundstage/debian >/dev/null || fail "importing soundstage/debian failed"
    as_root rm -rf "$root"
}

# Run the functions at the same time; fail when one has failed, but not before all have ended.
together() {
    started=
    for each in "$@"; do
        "$each" &
        started="$started $!"
    done
    failed=
    for one in $started; do wait "$one" || failed=yes; done
    [ -z "$failed" ] || exit 1
}

# What the suite of the example plugins finds in its containers besides. debootstrap cannot configure Chromium, apt can.
# apt is told what this machine's apt is told about its mirror: proxies, dates.
build_browser() {
    has_image soundstage/browser && return
    context=$(mktemp -d)
    apt-config dump Acquire >"$context/machine.conf"
    cat >"$context/Dockerfile" <<'END'
FROM localhost/soundstage/debian
RUN export APT_CONFIG=/machine.conf DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io chromium \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
END
    quietly "building soundstage/browser" podman build --quiet --layers=false --network host \
        --volume "$context/machine.conf:/machine.conf:ro" --tag soundstage/browser "$context"
    rm -r "$context"
}

# The packages that the two images consist of are fetched by this machine's own pip, so that their builds need no network.
fetch_wheels() {
    quietly "fetching packages" "$python" -m pip download --quiet --disable-pip-version-check --dest "$wheels" \
        uv hatchling editables "$here[claude,mcp]"
}

build_image() {
    name=$1; shift
    quietly "building soundstage/$name" podman build --quiet --layers=false --format docker \
        --build-arg BASE=localhost/soundstage/browser \
        --volume "$wheels:/wheels:ro" --build-arg "PIP_ARGS=--no-index --find-links /wheels" \
        --tag "soundstage/$name" --file "$here/containers/$name/Dockerfile" "$@"
}

build_agent() { build_image agent "$here/containers/agent"; }
build_harness() { build_image harness "$here"; }

build_images() {
    python=$here/.venv/bin/python
    wheels=$folder/wheels
    [ -x "$python" ] || fail "the project is not installed: run make check first"
    has_image soundstage/browser && has_image soundstage/agent && has_image soundstage/harness && return
    together build_browser fetch_wheels
    together build_agent build_harness
    rm -r "$wheels"
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
socket=$folder/podman.sock
[ ${#socket} -lt 100 ] || socket=${TMPDIR:-/tmp}/soundstage-podman-$(id -u)-$(echo "$folder" | cksum | cut -d ' ' -f 1).sock
export CONTAINERS_CONF="$folder/containers.conf" CONTAINERS_STORAGE_CONF="$folder/storage.conf"

case $action in
start | images)
    exec 9>"$folder/lock"
    flock 9
    install_packages
    write_settings
    start_service 9>&-
    build_busybox
    build_debian
    if [ "$action" = images ]; then build_images; fi
    echo "export DOCKER_HOST=unix://$socket"
    echo "export CONTAINERS_CONF=$CONTAINERS_CONF"
    echo "export CONTAINERS_STORAGE_CONF=$CONTAINERS_STORAGE_CONF"
    ;;
stop)
    stop_service
    unmount_storage
    ;;
*) fail "unknown action '$action': start, images or stop" ;;
esac
