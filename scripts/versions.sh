# shellcheck shell=bash disable=SC2034  # used by the scripts that source this file
# SPDX-License-Identifier: Apache-2.0
# All pinned versions. scripts/bootstrap sources this file; CMake reads TORCH_VERSION as the minimum version
# of libtorch.
# Debian packages are pinned by the release, Debian 12, whose archive apt verifies by signature; the versions
# below are the tested ones. Wheels are pinned by hash in requirements-*.txt, the packages of the page in
# web/package-lock.json.

TORCH_VERSION=2.13.0

# Node.js bundles the page of `loci serve` and runs its tests; it is not needed at run time. A Node.js on the
# PATH with npm is used if it has at least the first version. Otherwise the second version is installed as a
# Python wheel, which is one package; Debian's npm would be 350 packages.
NODE_AT_LEAST=20
NODE_WHEEL_VERSION=24.19.0

# Needed to build and run; tested versions:
DEBIAN_PACKAGES=(
  g++                                # 12.2
  cmake                              # 3.25.1
  ninja-build                        # 1.11.1
  make                               # 4.3
  ccache                             # 4.7.5
  pkg-config                         # 1.8.1
  python3                            # 3.11
  python3-venv                       # 3.11
  nlohmann-json3-dev                 # 3.11.2
  libcli11-dev                       # 2.1.2
  libspdlog-dev                      # 1.10.0
  libfmt-dev                         # 9.1.0
  libgtest-dev                       # 1.12.1
  libgmock-dev                       # 1.12.1
  libbenchmark-dev                   # 1.7.1
  libavcodec-dev                     # 5.1 (FFmpeg)
  libavformat-dev                    # 5.1
  libavutil-dev                      # 5.1
  libswscale-dev                     # 5.1
  libturbojpeg0-dev                  # 2.1.5
  libpng-dev                         # 1.6.39
  zlib1g-dev                         # 1.2.13
  libboost-dev                       # 1.74
)

# Needed by `make web-test` only.
DEBIAN_BROWSER_PACKAGES=(
  chromium                           # 156
)

# Used by tests that are skipped without them. Unpacked into build/, because installing a server would start it:
DEBIAN_TEST_PACKAGES=(
  nginx                              # 1.22.1
)

# Needed by `make format` and `make lint` only.
DEBIAN_DEV_PACKAGES=(
  clang-format                       # 14.0.6
  clang-tidy                         # 14.0.6
)

# Needed by `make fuzz` only: GCC has no libFuzzer.
DEBIAN_FUZZ_PACKAGES=(
  clang-14                           # 14.0.6
  libclang-rt-14-dev                 # 14.0.6
)

# Needed by `make package` only.
DEBIAN_PACKAGING_PACKAGES=(
  dpkg-dev                           # 1.21.22
  file                               # 5.44
)
