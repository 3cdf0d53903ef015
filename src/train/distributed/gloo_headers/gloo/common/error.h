// SPDX-License-Identifier: Apache-2.0
// Included by libtorch, needs to declare nothing.
#pragma once
