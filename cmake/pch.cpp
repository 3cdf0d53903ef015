// SPDX-License-Identifier: Apache-2.0
// Source of the target that owns the precompiled header pch.h.
