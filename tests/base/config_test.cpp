// SPDX-License-Identifier: Apache-2.0
#include "loci/base/config.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"

#include "tests/base/expect_error.h"

namespace loci {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Config, ReadsJsonWithComments) {
  const Json json = parse_json(R"({
    // a line
    "steps": 50, /* a
    block */ "name": "a // b"
  })",
                               "train.json");
  EXPECT_EQ(json["steps"], 50);
  EXPECT_EQ(json["name"], "a // b");
}

TEST(Config, RejectsInvalidJson) {
  EXPECT_BAD_INPUT(parse_json("", "a.json"), HasSubstr("a.json: not valid JSON"));
  EXPECT_BAD_INPUT(parse_json("{\"a\": 1", "a.json"), HasSubstr("line 1, column 8"));
  EXPECT_BAD_INPUT(parse_json("{} x", "a.json"), HasSubstr("not valid JSON"));
  EXPECT_BAD_INPUT(parse_json("{\"a\": 1e999}", "a.json"), HasSubstr("not valid JSON"));
  EXPECT_BAD_INPUT(parse_json("{\"a\": 1, \"b\": {\"a\": 2}, \"a\": 3}", "a.json"),
                   HasSubstr("the key 'a' is given twice"));
  EXPECT_BAD_INPUT(parse_json(std::string(100'000, '['), "a.json"), HasSubstr("levels of nesting"));
  EXPECT_BAD_INPUT(parse_json("{\"\xff\": 1}", "a.json"), HasSubstr("not valid JSON"));
  // The same key in different objects is valid.
  EXPECT_NO_THROW(parse_json(R"([{"a": {"a": 1}}, {"a": 2}])", "a.json"));
}

TEST(Config, LoadsFiles) {
  const std::string path =
      ::testing::TempDir() + "loci_config_test_" + std::to_string(::getpid()) + ".json";
  write_file(path, "{\"a\": [1, 2]} // end");
  EXPECT_EQ(load_json(path)["a"][1], 2);
  std::filesystem::remove(path);
  EXPECT_BAD_INPUT(load_json(path), HasSubstr(path));
}

TEST(Config, AppliesSettings) {
  Json json = parse_json(R"({"optimizer": {"rate": 1}, "list": [1]})", "a.json");
  apply_setting(json, "optimizer.rate=1e-4");
  apply_setting(json, "new.section.flag=true");
  apply_setting(json, "name=walk home");
  apply_setting(json, "empty=");
  apply_setting(json, "list=[3, 4]");
  apply_setting(json, "equation=a=b");
  EXPECT_EQ(json["optimizer"]["rate"], 1e-4);
  EXPECT_EQ(json["new"]["section"]["flag"], true);
  EXPECT_EQ(json["name"], "walk home");
  EXPECT_EQ(json["empty"], "");
  EXPECT_EQ(json["list"], Json({3, 4}));
  EXPECT_EQ(json["equation"], "a=b");

  EXPECT_BAD_INPUT(apply_setting(json, "rate"), HasSubstr("expected KEY=VALUE"));
  EXPECT_BAD_INPUT(apply_setting(json, "=5"), HasSubstr("expected KEY=VALUE"));
  EXPECT_BAD_INPUT(apply_setting(json, "a..b=5"), HasSubstr("an empty name"));
  EXPECT_BAD_INPUT(apply_setting(json, "list.b=5"), HasSubstr("is of type array, not a section"));
}

TEST(Config, ChecksTypes) {
  const Json json = parse_json(R"({"int": 5, "whole": 1e3, "half": 5.5, "text": "x", "flag": true,
    "list": [1, 2], "mixed": [1, "b"], "big": 3000000000, "huge": 18446744073709551615,
    "negative": -1, "nothing": null, "large": 1e300})",
                               "a.json");
  const ConfigReader reader(json, "a.json");
  EXPECT_EQ(reader.get<int>("int"), 5);
  EXPECT_EQ(reader.get<int>("whole"), 1000);
  EXPECT_EQ(reader.get<double>("int"), 5.0);
  EXPECT_EQ(reader.get<float>("half"), 5.5F);
  EXPECT_EQ(reader.get<std::string>("text"), "x");
  EXPECT_TRUE(reader.get<bool>("flag"));
  EXPECT_THAT(reader.get<std::vector<int>>("list"), ElementsAre(1, 2));
  EXPECT_EQ(reader.get<int64_t>("big"), 3'000'000'000);
  EXPECT_EQ(reader.get<uint32_t>("big"), 3'000'000'000U);
  EXPECT_EQ(reader.get<int8_t>("negative"), -1);
  EXPECT_EQ(reader.get<int>("nothing", 7), 7);
  EXPECT_EQ(reader.get<int>("absent", 8), 8);

  EXPECT_BAD_INPUT(reader.get<int>("half"), HasSubstr("a.json: half is 5.5; expected an integer"));
  EXPECT_BAD_INPUT(reader.get<int>("text"), HasSubstr("expected an integer"));
  EXPECT_BAD_INPUT(reader.get<int>("flag"), HasSubstr("expected an integer"));
  EXPECT_BAD_INPUT(reader.get<int>("big"), HasSubstr("a smaller integer"));
  EXPECT_BAD_INPUT(reader.get<int64_t>("huge"), HasSubstr("a smaller integer"));
  EXPECT_BAD_INPUT(reader.get<int64_t>("large"), HasSubstr("an integer"));
  EXPECT_BAD_INPUT(reader.get<uint8_t>("whole"), HasSubstr("a smaller integer"));
  EXPECT_BAD_INPUT(reader.get<uint64_t>("negative"), HasSubstr("a non-negative integer"));
  EXPECT_BAD_INPUT(reader.get<float>("large"), HasSubstr("expected a smaller number"));
  EXPECT_BAD_INPUT(reader.get<double>("text"), HasSubstr("expected a number"));
  EXPECT_BAD_INPUT(reader.get<bool>("int"), HasSubstr("expected true or false"));
  EXPECT_BAD_INPUT(reader.get<std::string>("int"), HasSubstr("expected a string"));
  EXPECT_BAD_INPUT(reader.get<std::vector<int>>("int"), HasSubstr("expected a list"));
  EXPECT_BAD_INPUT(reader.get<std::vector<int>>("mixed"), HasSubstr("expected an integer"));
  EXPECT_BAD_INPUT(ConfigReader(Json::array(), "a.json"), HasSubstr("expected a JSON object"));
}

TEST(Config, ChecksRangesAndChoices) {
  const Json json = {{"steps", 50}, {"mode", "dense"}};
  const ConfigReader reader(json, "a.json");
  EXPECT_EQ(reader.get<int>("steps", 1, 1, 50), 50);
  EXPECT_EQ(reader.choose("mode", "sparse", {"dense", "sparse"}), "dense");
  EXPECT_EQ(reader.choose("other", "sparse", {"dense", "sparse"}), "sparse");
  EXPECT_BAD_INPUT(reader.get<int>("steps", 1, 1, 49),
                   HasSubstr("a.json: steps is 50; it must be between 1 and 49"));
  EXPECT_BAD_INPUT(reader.choose("mode", "a", {"a", "b"}), HasSubstr("choose one of: a, b"));
}

TEST(Config, SuggestsTheNearestKey) {
  const Json json = {{"hybrid_layer", 3}, {"zebra", 1}};
  const ConfigReader reader(json, "config.json");
  EXPECT_BAD_INPUT(reader.get<int>("hybrid_layers"),
                   HasSubstr("the key 'hybrid_layers' is missing; is 'hybrid_layer' misspelled?"));
  EXPECT_BAD_INPUT(reader.finish(),
                   HasSubstr("unknown key 'hybrid_layer'; did you mean 'hybrid_layers'?"));
  reader.ignore({"hybrid_layer"});
  EXPECT_BAD_INPUT(reader.finish(), HasSubstr("unknown key 'zebra'; known keys: hybrid_layer, "));
  reader.ignore({"zebra"});
  EXPECT_NO_THROW(reader.finish());
}

TEST(Config, ChecksSections) {
  const Json json = parse_json(R"({"optimizer": {"rate": 1, "momentun": 2},
    "stages": [{"steps": 1}, {"steps": 2, "stps": 3}], "number": 4})",
                               "a.json");
  const ConfigReader reader(json, "a.json");
  EXPECT_EQ(reader.section("optimizer").get<int>("rate"), 1);
  // Reading a section again keeps the record of its keys.
  EXPECT_EQ(reader.section("optimizer").get<double>("momentum", 0.9), 0.9);
  EXPECT_EQ(reader.section("absent").get<int>("anything", 3), 3);
  EXPECT_BAD_INPUT(reader.section("number"), HasSubstr("expected a section"));
  EXPECT_BAD_INPUT(reader.sections("number"), HasSubstr("expected a list of sections"));
  EXPECT_EQ(reader.get<int>("number"), 4);

  const std::vector<ConfigReader> stages = reader.sections("stages");
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].get<int>("steps") + stages[1].get<int>("steps"), 3);
  EXPECT_BAD_INPUT(stages[1].get<int>("missing"),
                   HasSubstr("a.json: stages[1]: the key 'missing'"));
  stages[0].ignore({"missing"});
  EXPECT_BAD_INPUT(
      reader.finish(),
      HasSubstr("a.json: optimizer: unknown key 'momentun'; did you mean 'momentum'?"));
  reader.section("optimizer").ignore({"momentun"});
  EXPECT_BAD_INPUT(reader.finish(), HasSubstr("a.json: stages[1]: unknown key 'stps'"));
}

TEST(Config, KeepsMessagesShort) {
  const Json json = {{"text", std::string(10'000, 'x')}};
  const ConfigReader reader(json, "a.json");
  try {
    reader.get<int>("text");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 150U);
  }
}

}  // namespace
}  // namespace loci
