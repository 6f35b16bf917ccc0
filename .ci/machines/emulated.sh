# emulated.sh -- sourced by .ci/arm, .ci/armv7 and .ci/riscv, which say in variables what machine it is: the wheel, built here and run in an
# emulated Python. [--seconds N] [--seed TEXT] [step...]; the steps: machine, wheel, sdist, run, pages, models, unit, ops, counts,
# pipes; all of `steps` without arguments. The emulated machine and what passed are kept in a temporary folder (ML_MACHINES names another); what takes
# long goes on there at the next call. --seconds: what each of the three long steps may take (by default ML_STEP_SECONDS, or 900); tests come
# in a random order, so those reached are a sample of all. --seed: another order, and 40 seconds for each of these steps. ML_NATIVE: a Python
# that has this minilite, which spares building it. Needs python3 with venv, and as root it installs a cross compiler and qemu.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/machine.sh"
seconds=${ML_STEP_SECONDS:-900}
while [[ ${1:-} == --* ]]; do
    case $1 in
        --seconds) seconds=$2 ;;
        --seed) export ML_SEED=$2 seconds=40 ;;
        *) echo "unknown: $1" >&2; exit 2 ;;
    esac
    shift 2
done
steps_asked=" ${*:-$steps} "
take_copy
machines=${ML_MACHINES:-${TMPDIR:-/tmp}/minilite-machines}
machine=$machines/$kind
mkdir -p "$machine"
notes=$(notes_of "$kind")
status=0

wanted() {
    [[ $steps_asked == *" $1 "* ]] || return 1
    step "$1"
}

# Pure Python, of versions that have wheels for every machine.
pure=("pytest>=8" "hypothesis<6.140" "flatbuffers>=2.0" rich typing-extensions)
# Debian 13's emulator is one program that needs nothing of the system. Under that of Debian 12 every thread that ends leaks memory, and a
# child that was made by fork cannot start a thread.
emulator=$machine/emulator/root/usr/bin/$qemu
if wanted machine && ! [[ -x $emulator && -s $machine/made ]]; then
    if [[ $(id -u) == 0 ]] && ! { command -v "$qemu" && command -v "$target-gcc"; } >/dev/null; then
        apt-get install --yes --no-install-recommends "gcc-$target" "libc6-dev-$debian-cross" qemu-user >/dev/null
    fi
    packages=(python3 python3-venv libpython3-dev libstdc++6 libatomic1)
    [[ -n $wheels ]] || packages+=(python3-numpy python3-cffi python3-pil)
    rm -rf "$machine"/{root,emulator}
    debian_root "$machine/emulator" "$(dpkg --print-architecture)" trixie qemu-user
    debian_root "$machine" "$debian" "$suite" "${packages[@]}"
    emulated_python "$machine" "$emulator" "$processor"
    # Debian's pyconfig.h includes one by architecture, which a copy spares the cross compiler from finding.
    python=$(basename "$(dirname "$site")")
    rm -rf "$machine/include"
    cp -r "$machine/root/usr/include/$python" "$machine/include"
    cp "$machine/root/usr/include/$target/$python/pyconfig.h" "$machine/include/pyconfig.h"
    python3 -m venv "$machine/host"
    "$machine/host/bin/pip" install "cmake>=3.26" ninja "cffi>=2.1" "scikit-build-core>=0.11" build numpy "flatbuffers>=2.0"
    for_it=(--only-binary=:all: --python-version "${python#python}" --implementation cp --abi abi3 --abi none --abi "cp${python//[!0-9]/}")
    for platform in 2014 _2_17 _2_27 _2_28 _2_31 _2_34; do for_it+=(--platform "manylinux${platform}_$kind"); done
    pip_there=("$machine/host/bin/pip" install --upgrade --target "$site" "${for_it[@]}")
    if [[ -n $wheels ]]; then
        reported_processor "$machine"
        "${pip_there[@]}" "${pure[@]}" numpy "cffi>=2.1" pillow soxr tqdm backports.strenum protobuf ml_dtypes
        "${pip_there[@]}" --no-deps "ai-edge-litert>=2.1"
    else # PyPI has neither numpy nor cffi for it
        echo "$machine/root/usr/lib/python3/dist-packages" >"$site/debian.pth"
        "${pip_there[@]}" "${pure[@]}" "scikit-build-core>=0.11" pip
        [[ -z $peer ]] || "${pip_there[@]}" --no-deps "$peer"
    fi
    # What tests call cc is the cross compiler, for they load what they compile; not by a link, for ccache goes by the name. cmake and ninja
    # are this machine's too: programs that an emulated one starts are not emulated.
    mkdir -p "$machine/tools"
    rm -f "$machine/tools/cc"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec %q "$@"\n' "$(command -v "$target-gcc")" >"$machine/tools/cc"
    chmod +x "$machine/tools/cc"
    ln -sf "$machine"/host/bin/{cmake,ninja} "$machine/tools"
    echo "$site" >"$machine/made"
fi
[[ -x $emulator && -s $machine/made ]] || { echo "there is no emulated machine; the step is called machine" >&2; exit 1; }
site=$(<"$machine/made")

# use_wheel FOLDER: what is run from here on.
use_wheel() {
    rm -rf "$site"/minilite "$site"/minilite_runtime-*.dist-info
    python3 -m zipfile -e "$1"/minilite_runtime-*_"$kind".whl "$site"
    echo "$notes" >"$machine/holds"
    wc -c "$1"/*.whl
}

# A Python of another version than that of this machine has other headers than CMake would take.
options=(-C "cmake.define.Python_INCLUDE_DIR=$machine/include")
[[ $site == */$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/* ]] ||
    options+=(-C "cmake.define.CMAKE_MODULE_PATH=$copy/.ci/machines")

if wanted wheel && ! { [[ -s $notes/wheel ]] && grep -qxF "$notes" "$machine/holds"; }; then
    rm -rf "$machine/dist"
    ML_TARGET=$target CMAKE_TOOLCHAIN_FILE=$copy/.ci/machines/toolchain.cmake _PYTHON_HOST_PLATFORM=linux-$kind \
        PATH=$machine/host/bin:$PATH "$machine/host/bin/pip" wheel --no-build-isolation --no-deps -w "$machine/dist" "$copy" "${options[@]}"
    rm -rf "$copy/build"
    use_wheel "$machine/dist" | tee "$notes/wheel"
fi

export PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1
# pip and the build backend are emulated; the compiler is the cross compiler, for an emulated one would take hours.
if wanted sdist && [[ ! -s $notes/sdist ]]; then
    rm -rf "$machine"/{sdist,built}
    (cd "$copy" && PATH=$machine/host/bin:$PATH "$machine/host/bin/python" -m build --no-isolation --sdist --outdir "$machine/sdist" >/dev/null)
    PATH=$machine/tools:$PATH "$machine/python" -m pip wheel --no-build-isolation --no-deps -w "$machine/built" \
        "$machine"/sdist/*.tar.gz "${options[@]}"
    use_wheel "$machine/built" | tee "$notes/sdist"
fi

# Tests are the copy's, the package is the wheel's; their paths stay the same from call to call.
rm -rf "$machine/tree" && mkdir "$machine/tree"
cp -r "$copy"/{tests,tools,asv_bench,docs,csrc,schema,pyproject.toml,README.md} "$machine/tree"
mkdir "$machine/tree/minilite" && cp -r "$copy/minilite/data" "$machine/tree/minilite"
export ML_TEST_PATIENCE=${ML_TEST_PATIENCE:-15}

# pytest_there NAME [arguments of pytest]
pytest_there() {
    local name=$1 ended=0
    shift
    (cd "$machine/tree" && ML_PASSED=$notes/$name ML_SECONDS=$seconds PYTHONPATH=$copy/.ci/machines:$machine/tree/tests:$machine/tree \
        PATH=$machine/tools:$PATH \
        "$machine/python" -m pytest -q -p no:cacheprovider -p emulated_tests -o pythonpath=tests "$@") || ended=$?
    # 5: none was left to run; 2: the time was over.
    ((ended == 0 || ended == 5 || ended == 2)) || status=1
    touch "$notes/$name"
    echo "pass: $name: $(wc -l <"$notes/$name") tests so far$( ((ended == 2)) && echo ", not all")"
}

cd "$machine/tree"
if wanted run; then
    for level in $levels; do
        MINILITE_ISA=$level "$machine/python" -m minilite run | tail -1
    done
    "$machine/python" -m minilite --version
    for cpu in $other_processors; do CPU=$cpu "$machine/python" -m minilite --version; done
    [[ -z $newer_level ]] || CPU=$newer_processor MINILITE_ISA=$newer_level "$machine/python" -m minilite run | tail -1
fi

if wanted pages; then
    # qemu grants limits of the address space and does not apply them; what it keeps free (-R) it does.
    pytest_there pages tests/unit/test_page_size.py -k "not without_a_reservation and not moving_memory"
    QEMU_ARGUMENTS="-R 512G" "$machine/python" "$copy/.ci/machines/address_space.py" || status=1
fi

if wanted models; then
    if [[ -d $work/shared/models ]]; then
        here=$(notes_of "answers${ML_SEED:-}") # what this machine gives
        if [[ ! -s $here/recorded ]]; then
            rm -rf "${here:?}"/*
            native=${ML_NATIVE:-$here/native/bin/python}
            [[ -n ${ML_NATIVE:-} ]] || { python3 -m venv "$here/native" && "$here/native/bin/pip" install "$copy" && rm -rf "$copy/build"; }
            PYTHONSAFEPATH=1 "$native" "$copy/.ci/machines/models.py" record "$here/answers" --shared "$work/shared"
            echo yes >"$here/recorded"
        fi
        judged() {
            "$machine/python" "$copy/.ci/machines/models.py" judge "$here/answers" --passed "$notes/$1" --shared "$work/shared" \
                --levels "$2" --seconds "$seconds" || status=1
        }
        judged models "${levels// /,}"
        [[ -z $newer_level ]] || CPU=$newer_processor judged "models_$newer_level" "$newer_level"
    else
        echo "skipped: there is no ../shared"
    fi
fi

# Left out: what starts compilers or browsers, reads git, measures the machine, or checks the sources, which are the same everywhere.
left_out=()
for name in documents gallery packaging pipes refused_builds schema; do left_out+=(--ignore "tests/unit/test_$name.py"); done
# qemu does not apply limits of the address space.
left_out+=(--deselect tests/unit/test_page_size.py::test_arena_on_larger_pages_without_a_reservation)
# LiteRT's wheel for aarch64 ends the process when an input gets another rank and no elements.
left_out+=(--deselect tests/unit/test_interpreter.py::test_empty_and_other_rank)
! wanted unit || pytest_there unit tests/unit "${left_out[@]}"
# Left out: a large node of every operator, by which a single test can take hours here; and where LiteRT's wheel for aarch64 gives another
# last bit than that for x86-64, which minilite gives everywhere: some floats, and some entries of a table made of floats.
left_out=(--ignore tests/ops/test_every_block.py)
for name in "fake_quant.py::test_ranges" "unary.py::test_tables[s16-EXP]"; do left_out+=(--deselect "tests/ops/test_$name"); done
! wanted ops || pytest_there ops tests/ops "${left_out[@]}"

if wanted counts; then
    if [[ -d $work/shared/models ]]; then
        CPU=$processor "$machine/host/bin/python" "$copy/.ci/machines/counts.py" "$machine" --shared "$work/shared"
    else
        echo "skipped: there is no ../shared"
    fi
fi
# Needs an llvm-mca, without which it says so and ends with 2.
! wanted pipes || "$machine/host/bin/python" "$copy/.ci/machines/pipes.py" || (($? == 2)) || status=1
exit "$status"
