// SPDX-License-Identifier: Apache-2.0
#include "loci/base/choice.h"

#include <array>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci {
namespace {

using ::testing::StrEq;

TEST(Choice, AnUnknownNameListsAllChoices) {
  EXPECT_EQ(unknown_choice("style", "moon", {"town", "desert"}),
            "unknown style 'moon'; choose one of: town, desert");
}

TEST(Choice, ASimilarNameIsSuggested) {
  EXPECT_EQ(unknown_choice("style", "twon", {"town", "desert"}),
            "unknown style 'twon' (did you mean 'town'?); choose one of: town, desert");
}

TEST(Choice, AnEmptyListIsLeftOut) {
  EXPECT_EQ(unknown_choice("model", "mini", {}), "unknown model 'mini'");
}

TEST(Choice, TheIndexFollowsTheOrderOfTheList) {
  constexpr std::array<std::string_view, 3> kNames = {"a", "b", "c"};
  EXPECT_EQ(choice_index("letter", "a", kNames), 0U);
  EXPECT_EQ(choice_index("letter", "c", kNames), 2U);
  EXPECT_BAD_INPUT(choice_index("letter", "dd", kNames),
                   StrEq("unknown letter 'dd'; choose one of: a, b, c"));
}

}  // namespace
}  // namespace loci
