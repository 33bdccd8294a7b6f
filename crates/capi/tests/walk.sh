#!/bin/bash
# The walk of somebody who has a farm of C++ programs, from a clone to events: clone, build and install by the README alone, move
# the prefix, build the README's program against it with find_package, and let examples/farm.cpp feed events from threads while
# engines are exchanged and banks damaged; a short run of it under AddressSanitizer looks for leaks. By hand, before a release:
#
#   crates/capi/tests/walk.sh MDF GEOMETRY [SLICES [REPOSITORY]]
#
# MDF and GEOMETRY: raw events that are not compressed, and the folder of the detector's geometry, or nominal for simulated ones
# (peloton simulate --detector lhcb --events 7 --output events.mdf). CARGO_TARGET_DIR may name what was built before. Prints the
# wall-clock time of each step; ends at the first one that fails.
set -euo pipefail

[ $# -ge 2 ] || { grep '^#' "$0" | sed 1d >&2; exit 2; }
mdf=$(realpath "$1")
geometry=$2
[ "$geometry" = nominal ] || geometry=$(realpath "$geometry")
slices=${3:-1000}
repository=${4:-$(cd "$(dirname "$0")/../../.." && pwd)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

step() {
    local name=$1 begin=$EPOCHREALTIME code=0
    shift
    "$@" >log 2>&1 || code=$?
    printf '%8.1f s  %s\n' "$(awk "BEGIN {print $EPOCHREALTIME - $begin}")" "$name"
    [ $code = 0 ] || { tail -n 30 log; exit 1; }
}

# The N-th block of a language in the README of the clone.
block() { awk -v fence="\`\`\`$1" -v wanted="$2" '/^```/ {inside = 0} inside && n == wanted; $0 == fence {n++; inside = 1}' clone/crates/capi/README.md; }

step "clone" git clone --quiet "$repository" clone
step "configure" cmake -S clone/crates/capi -B build
step "build" cmake --build build
step "install" cmake --install build --prefix "$place/first"
mkdir -p elsewhere/deep
step "move the prefix" mv first elsewhere/deep/peloton
prefix=$place/elsewhere/deep/peloton
lib=$(dirname "$(find "$prefix" -name libpeloton.a)")
export LD_LIBRARY_PATH=$lib PKG_CONFIG_PATH=$lib/pkgconfig

mkdir project
block cpp 1 >project/main.cpp
{
    printf 'cmake_minimum_required(VERSION 3.16)\nproject(mine CXX)\nadd_executable(my_program main.cpp)\n'
    block cmake 1
    printf 'target_compile_features(my_program PRIVATE cxx_std_17)\n'
} >project/CMakeLists.txt
step "find_package, configure" cmake -S project -B project/build "-DCMAKE_PREFIX_PATH=$prefix"
step "find_package, build" cmake --build project/build
step "the README's program" project/build/my_program "$mdf" "$geometry"
tail -n 1 log

read -ra flags <<<"$(pkg-config --cflags --libs peloton)"
farm=clone/crates/capi/examples/farm.cpp
step "farm, build" c++ -std=c++17 -O2 -pthread $farm -o farm "${flags[@]}"
step "farm, $slices slices" ./farm "$mdf" "$geometry" "$slices" 1000
cat log
step "farm with sanitizers, build" c++ -std=c++17 -O1 -g -pthread -fsanitize=address,undefined $farm -o checked "${flags[@]}"
step "farm with sanitizers, 100 slices" ./checked "$mdf" "$geometry" 100 100
cat log
printf '%8.1f s  in all\n' "$SECONDS"
