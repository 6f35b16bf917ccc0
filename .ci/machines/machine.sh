# machine.sh -- sourced after lib.sh: an emulated Python of another kind of machine, in a folder that lasts, made from Debian's packages
# and PyPI's wheels. Nothing of the system changes but what apt installs for a cross build: no binfmt_misc, no foreign architecture.

# debian_root FOLDER ARCHITECTURE SUITE PACKAGE...: packages and what they depend on, unpacked in FOLDER/root, by an apt with a state of its
# own. SUITE: trixie, say; empty for that of this machine.
debian_root() {
    local to=$1 architecture=$2 other=$3 host suite
    shift 3
    mkdir -p "$to"/apt/{lists,cache/archives}/partial "$to/apt/parts" "$to/root"
    : >"$to/apt/status"
    # Where this Debian comes from.
    read -r host suite < <(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' | awk '$2 !~ /-/' | head -1)
    echo "deb $host ${other:-$suite} main" >"$to/apt/sources.list"
    cat >"$to/apt/apt.conf" <<CONF
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State::Lists "$to/apt/lists";
Dir::State::status "$to/apt/status";
Dir::Cache "$to/apt/cache";
Dir::Etc::sourcelist "$to/apt/sources.list";
Dir::Etc::sourceparts "$to/apt/parts";
CONF
    APT_CONFIG=$to/apt/apt.conf apt-get -qq update
    APT_CONFIG=$to/apt/apt.conf apt-get -qq --yes --download-only install "$@"
    for deb in "$to"/apt/cache/archives/*.deb; do dpkg -x "$deb" "$to/root"; done
    rm -rf "$to/apt"
    # What scripts of the packages would have linked: /lib since Debian 13, and the libraries that numpy is linked with.
    local name
    for name in bin lib lib64; do [[ -e $to/root/$name || ! -e $to/root/usr/$name ]] || ln -s "usr/$name" "$to/root/$name"; done
    for name in "$to/root/usr/lib"/*/{blas/libblas,lapack/liblapack}.so.3; do
        [[ ! -e $name ]] || ln -sf "$(basename "$(dirname "$name")")/$(basename "$name")" "$(dirname "$name")/../"
    done
}

# emulated_python FOLDER QEMU CPU: FOLDER/python, a virtual environment over FOLDER/root made by hand, whose python is a script. qemu's -0
# makes it sys.executable, so children are emulated too. QEMU_ARGUMENTS holds more of qemu's arguments; CPU names another processor, QEMU
# another emulator.
emulated_python() {
    local to=$1 python
    python=$(basename "$(find "$to/root/usr/bin" -regex '.*/python3\.[0-9]+')")
    site=$to/venv/lib/$python/site-packages
    mkdir -p "$to/venv/bin" "$site"
    printf 'home = %s\ninclude-system-site-packages = %s\n' "$to/root/usr/bin" "${4:-false}" >"$to/venv/pyvenv.cfg"
    cat >"$to/venv/bin/python3" <<SCRIPT
#!/bin/sh
exec "\${QEMU:-$2}" -cpu "\${CPU:-$3}" -L "$to/root" \$QEMU_ARGUMENTS -0 "$to/venv/bin/python3" "$to/root/usr/bin/$python" "\$@"
SCRIPT
    chmod +x "$to/venv/bin/python3"
    ln -sf python3 "$to/venv/bin/python"
    ln -sf venv/bin/python3 "$to/python"
}

# reported_processor FOLDER: a Cortex-A76's /proc/cpuinfo, which is served in the place of this machine's. LiteRT reads it, and ends with
# SIGSEGV on that of an x86.
reported_processor() {
    mkdir -p "$1/root/proc"
    for ((cpu = 0; cpu < $(nproc); cpu++)); do
        printf 'processor\t: %d\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp\n' "$cpu"
        printf 'CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x4\nCPU part\t: 0xd0b\nCPU revision\t: 1\n\n'
    done >"$1/root/proc/cpuinfo"
}

# source_of_debian PACKAGE FOLDER: its source as Debian 13 has it, without Debian's changes.
source_of_debian() {
    local apt=$work/apt
    mkdir -p "$apt"/{lists/partial,archives/partial} "$2"
    echo "deb-src http://deb.debian.org/debian trixie main" >"$apt/sources.list"
    local options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists"
        -o "Dir::Cache=$apt")
    (cd "$apt" && apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only --tar-only "$1") >/dev/null
    tar xf "$apt/$1"_*.orig.tar.* -C "$2" --strip-components=1
}

# cpython_of_debian FOLDER [arguments of configure]: builds CPython 3.13 from its source package, and installs it there.
cpython_of_debian() {
    local to=$1 build=$work/python-build
    shift
    mkdir -p "$build"
    source_of_debian python3.13 "$work/python-source"
    (cd "$build" && "$work/python-source/configure" -q --prefix="$to" "$@" && make -s -j "$jobs" && make -s install) >/dev/null 2>&1
    rm -rf "$build" "$work/python-source"
}

# newer_python VERSION: prints the path of a Python that only a later Debian than this one has. It is unpacked once, in ~/.cache, together
# with its libraries, and their loader starts it. A virtual environment made from it works like any other.
newer_python() {
    local to=$HOME/.cache/minilite-python$1 python loader libraries
    python=$to/root/usr/bin/python$1
    if [[ ! -s $to/made ]]; then
        rm -rf "$to"
        debian_root "$to" "$(dpkg --print-architecture)" sid "python$1" "python$1-venv" >&2
        loader=$(find "$to/root/usr/lib" -name 'ld-linux-*.so.*' | head -1)
        libraries=$(dirname "$loader")
        mv "$python" "$python.program"
        printf '#!/bin/sh\nexec %s --argv0 "$0" --library-path %s %s "$@"\n' "$loader" "$libraries" "$python.program" >"$python"
        chmod +x "$python"
        # Where it finds the wheel of pip that is installed in a new virtual environment.
        grep -rlF '"/usr/share/python-wheels/"' "$to/root/usr/lib/python$1" --include=_sysconfig_vars_* |
            xargs sed -i "s|\"/usr/share/python-wheels/\"|\"$to/root/usr/share/python-wheels/\"|"
        sed -i "s|'/usr/share/python-wheels/'|'$to/root/usr/share/python-wheels/'|" "$to/root/usr/lib/python$1"/_sysconfigdata_*.py
        # Debian does this when it installs a package; without it every start compiles what it imports, and Ctrl-C takes seconds.
        "$python" -m compileall -q "$to/root/usr/lib/python$1" >&2 || true
        echo "$python" >"$to/made"
    fi
    echo "$python"
}
