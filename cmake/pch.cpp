// SPDX-License-Identifier: Apache-2.0
// Exists so that the precompiled header of pch.h has a target to live in.
