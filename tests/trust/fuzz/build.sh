#!/bin/bash -eu
# Builds the harnesses: build.sh FOLDER, which then has fuzz_reader, fuzz_records and fuzz_flexbuffer, and,
# unless ML_FUZZ_ALL is OFF, fuzz_run and fuzz_offline, which take ten times as long to build.
# OSS-Fuzz calls it without an argument; it sets CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE and OUT. Otherwise it takes
# clang and its libFuzzer (Debian: apt install clang-14 libclang-rt-14-dev), AddressSanitizer and UndefinedBehaviorSanitizer.
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
out=${1:-$OUT}
mkdir -p "$out"
options=()
if [[ -n ${LIB_FUZZING_ENGINE:-} ]]; then
    options+=(-DML_SANITIZE= "-DML_FUZZ_ENGINE=$LIB_FUZZING_ENGINE")
else
    clang=$(command -v clang clang-{14..21} | head -1 || true)
    export CC=$clang CXX=${clang/clang/clang++}
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Fuzz -DML_FUZZ_ALL="${ML_FUZZ_ALL:-ON}" "${options[@]}" >/dev/null
cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-2}" >/dev/null
for harness in reader run records offline flexbuffer; do
    [[ -f $build/fuzz_$harness ]] || continue
    cp "$build/fuzz_$harness" "$out/"
    cp "$here/models.dict" "$out/fuzz_$harness.dict"
    if [[ -d $here/corpus/$harness ]] && command -v zip >/dev/null; then
        (cd "$here/corpus/$harness" && zip -q "$out/fuzz_${harness}_seed_corpus.zip" ./*)
    fi
done
