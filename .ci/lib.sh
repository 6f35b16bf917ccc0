# lib.sh -- what the scripts here share; sourced, never run. It makes a copy of this checkout in a temporary folder, with uncommitted
# changes, and ../shared beside it if that exists. Nothing is written into the checkout itself.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
copy=$work/minilite
jobs=${JOBS:-2} # processes at a time: compilers, test runners
trap 'end_steps; end_jobs; rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 PIP_NO_WARN_CONFLICTS=1 MPLBACKEND=agg CMAKE_BUILD_PARALLEL_LEVEL=$jobs

# Steps: each is named when it begins, and the time of each is printed when the script ends, also after a failure.
step() {
    end_step
    step_name=$* step_began=$SECONDS
    printf '\n== %s (%d s)\n' "$*" "$SECONDS"
}
end_step() {
    [[ -z ${step_name:-} ]] || printf '%5d s  %s\n' $((SECONDS - step_began)) "$step_name" >>"$work/step_times"
    step_name=
}
end_steps() {
    end_step
    [[ ! -e $work/step_times ]] || printf '\n== what took how long\n%s\n%5d s  all\n' "$(<"$work/step_times")" "$SECONDS"
}

# beside FUNCTION...: runs these functions, each of which begins a step, `jobs` at a time, for each leaves a core idle at times. Prints the
# output of each as a whole, in this order. All of them run; it fails if one does.
beside() {
    local each=("$@") begun=0 shown=0 failed=0
    end_step
    set -m # each has a group of processes of its own, which can be ended as a whole
    while ((shown < $#)); do
        while ((begun < $#)) && (($(jobs -rp | wc -l) < jobs)); do
            (
                trap 'ended=$?; end_step; echo "$ended" >"$work/${each[begun]}.status"' EXIT
                "${each[begun]}"
            ) >"$work/${each[begun]}.log" 2>&1 </dev/null &
            ((begun += 1))
        done
        wait -n || true
        while ((shown < begun)) && { [[ -e $work/${each[shown]}.status ]] || [[ -z $(jobs -rp) ]]; }; do
            cat "$work/${each[shown]}.log"
            [[ $(cat "$work/${each[shown]}.status") == 0 ]] || { echo "${each[shown]} FAILED" >&2; failed=1; }
            ((shown += 1))
        done
    done
    set +m
    return "$failed"
}

# end_jobs: ends what `beside` has begun, when the script ends before it.
end_jobs() {
    local group
    for group in $(jobs -rp); do kill -- "-$group" 2>/dev/null || true; done
    wait
}

take_copy() {
    # The checkout may belong to another user.
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
    git clone --quiet "$root" "$copy"
    git -C "$root" diff --binary HEAD >"$work/changes.patch"
    [[ ! -s $work/changes.patch ]] || git -C "$copy" apply "$work/changes.patch"
    git -C "$root" ls-files -z --others --exclude-standard | tar -C "$root" -c --null -T - | tar -C "$copy" -x
    [[ ! -d $root/../shared ]] || ln -s "$(cd "$root/../shared" && pwd)" "$work/shared"
}

# warn_of_subjects: names those of the last twenty commits whose subject is longer than 72 characters, joins two sentences, or begins
# with a name and a colon. It never fails, because a commit that others have cannot be changed.
warn_of_subjects() {
    git -C "$copy" log -20 --no-merges --format='%h %s' |
        sed -nE 's/^(.*;.*|[^ ]+ [^ ]+:.*|[^ ]+ .{73,})$/warning: the subject of a commit is one change in at most 72 characters: \1/p'
}

# notes_of NAME: a temporary folder that lasts, for what a script has done already on just these files.
notes_of() {
    local folder
    folder=${TMPDIR:-/tmp}/minilite-$1-$(git -C "$copy" add --all && git -C "$copy" write-tree)
    mkdir -p "$folder"
    echo "$folder"
}

# install_apart PYTHON FOLDER [arguments of pip]: the copy with its test extra, not editable, in a new virtual environment. An
# editable install elsewhere would win over a special build of the core, and so would the checkout's own package.
install_apart() {
    "$1" -m venv "$2"
    "$2/bin/pip" install "$copy[test]" -C install.strip=false "${@:3}"
    rm -rf "$copy/build"
}

# files_for_any_python: the folders of `rooms_of_tests`, and the files besides that another Python or machine runs with them.
files_for_any_python() {
    rooms_of_tests
    printf '%s\n' tests/memory/test_page_size.py tests/conformance/test_{mended_results,training}.py
}

# rooms_of_tests: the folders of tests that have the mark `quick`.
rooms_of_tests() { sed -n '/^QUICK = (/,/)/p' "$copy/tests/conftest.py" | grep -oE '"[a-z_]+"' | sed 's/"\(.*\)"/tests\/\1/'; }

# test_apart PYTHON [arguments of pytest]: tests of the copy on the package that this Python has installed; pytest's header says
# which core that is. Other modules in the copy's root come after the installed package in the path, not before it. All but the slow
# tests, unless -m says otherwise.
test_apart() {
    (
        cd "$work"
        export PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1
        echo "$copy" >"$("$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/copy.pth"
        "$1" -m pytest -p no:cacheprovider -m "not slow" -c "$copy/pyproject.toml" --rootdir "$copy" -o pythonpath=tests "${@:2}"
    )
}

# test_sanitized PYTHON [arguments of pytest]: the same on a core with AddressSanitizer and UndefinedBehaviorSanitizer; fails if they
# report anything. libstdc++ comes along so that exceptions thrown in LiteRT find the interceptors in place.
test_sanitized() {
    local preload found status=0
    preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)"
    found=$work/found
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$found UBSAN_OPTIONS=print_stacktrace=1
    LD_PRELOAD=$preload has_symbols "$1" __asan_ __ubsan_
    # Together with the other one, UndefinedBehaviorSanitizer writes to stderr, whatever log_path says, and pytest would capture that.
    LD_PRELOAD=$preload test_apart "$1" --capture=sys "${@:2}" 2>"$work/stderr" || status=$?
    cat "$work/stderr" >&2
    if compgen -G "$found*" >/dev/null || grep -q 'runtime error:' "$work/stderr"; then
        cat "$found"* 2>/dev/null || true
        status=1
    fi
    return "$status"
}

# has_symbols PYTHON NAME...: fails unless the installed core has each of these symbols, which a special build adds.
has_symbols() {
    PYTHONSAFEPATH=1 "$1" - "${@:2}" <<'PYTHON'
import pathlib, sys
import minilite._core as core
library = pathlib.Path(core.__file__).read_bytes()
missing = [name for name in sys.argv[1:] if name.encode() not in library]
sys.exit(f"{core.__file__} has no {', '.join(missing)}" if missing else 0)
PYTHON
}
