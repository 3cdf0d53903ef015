// SPDX-License-Identifier: Apache-2.0
// EXPECT_BAD_INPUT(statement, matcher) and similar macros: the statement must throw a loci::Error
// of that kind whose message is one line and matches.
#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"

#define LOCI_EXPECT_ERROR(statement, expected_kind, matcher)                              \
  try {                                                                                   \
    statement;                                                                            \
    ADD_FAILURE() << #statement " did not fail";                                          \
  } catch (const ::loci::Error& caught) {                                                 \
    EXPECT_EQ(caught.kind(), ::loci::ErrorKind::expected_kind) << caught.what();          \
    EXPECT_THAT(std::string(caught.what()), matcher);                                     \
    EXPECT_EQ(std::string(caught.what()).find('\n'), std::string::npos) << caught.what(); \
  }

#define EXPECT_BAD_INPUT(statement, matcher) LOCI_EXPECT_ERROR(statement, kBadInput, matcher)
#define EXPECT_MACHINE_ERROR(statement, matcher) LOCI_EXPECT_ERROR(statement, kMachine, matcher)
#define EXPECT_INTERNAL_ERROR(statement, matcher) LOCI_EXPECT_ERROR(statement, kInternal, matcher)
