// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/runner.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/eval/report/report.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// Five clips and two groups, the second with two variants. Values depend on group, clip and
// variant.
class FakeSuite : public Suite {
 public:
  std::string title() const override { return "Fake <suite>"; }
  Json settings() const override { return {{"suite", "fake"}, {"offset", offset}}; }
  std::vector<std::string> clips() const override { return {"a/1", "a_1", "b", "c", "d"}; }
  std::vector<VariantGroup> groups() const override {
    return {{"one", {"one"}}, {"two", {"two, dense", "two, \"sparse\""}}};
  }
  std::vector<Metric> metrics() const override {
    return {{"psnr", "PSNR", Metric::Better::kHigher, 2},
            {"error", "error", Metric::Better::kLower, 3},
            {"ratio", "ratio", Metric::Better::kNearOne, 3},
            {"dino", "DINOv2", Metric::Better::kHigher, 3, "no weights"},
            {"middle", "middle", Metric::Better::kHigher, 1, "", "", /*median=*/true}};
  }
  void open(size_t group) override { open_ = group; }
  PartResult run(size_t clip) override {
    if (static_cast<int>(clip) == interrupted) throw Interrupted(2);
    if (static_cast<int>(clip) == broken || broken == kAll) fail("clip {} is broken", clip);
    if (++runs == 2 && check) check();
    PartResult part;
    const VariantGroup group = groups()[open_];
    for (const std::string& variant : group.variants) {
      const double base = static_cast<double>(open_) + 0.25 * static_cast<double>(clip);
      part.values[variant]["psnr"] = {base, base + 1. / 3};
      part.values[variant]["error"] = {base, NAN};
      part.values[variant]["ratio"] = {1 + (variant == "one" ? -0.1 : 0.2)};
      part.values[variant]["none"] = {};
      // The median of all values is 3, the mean of all clips is 7.68.
      part.values[variant]["middle"] =
          clip == 0 ? std::vector<double>{1, 2, 3, 3, 3, 3} : std::vector<double>{9};
      part.curves[variant] = {{"time", {{0, base}, {1, base + 1}}}};
    }
    part.pictures = {{"first",
                      {make_cell("recording", at::zeros({8, 12, 3}, at::kByte)),
                       make_cell(group.name, at::ones({8, 12, 3}, at::kByte))}}};
    return part;
  }
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override {
    return {{mean_curves(*this, parts, "time", "curve", "seconds")}};
  }

  static constexpr int kAll = 100;  // every clip is broken
  int runs = 0, broken = -1, interrupted = -1, offset = 0;
  std::function<void()> check;  // called before the second clip is measured

 private:
  size_t open_ = 0;
};

class Runner : public ::testing::Test {
 protected:
  ~Runner() override { fs::remove_all(folder_); }
  fs::path out(const std::string& name) const { return folder_ / name; }
  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_runner_test_" + std::to_string(::getpid()));
};

TEST_F(Runner, ShardsGiveTheSameReport) {
  FakeSuite whole;
  EXPECT_EQ(run_suite(whole, {out("whole")}), 0);
  EXPECT_EQ(whole.runs, 10);
  FakeSuite parts[3];
  EXPECT_EQ(run_suite(parts[2], {out("parts"), 2, 3}), 8);
  EXPECT_EQ(run_suite(parts[0], {out("parts"), 0, 3}), 4);
  EXPECT_FALSE(fs::exists(out("parts") / "report.html"));
  EXPECT_EQ(run_suite(parts[1], {out("parts"), 1, 3}), 0);
  EXPECT_EQ(parts[0].runs + parts[1].runs + parts[2].runs, 10);
  for (const char* name :
       {"report.html", "results.json", "summary.csv", "pairs.csv", "values.csv"}) {
    EXPECT_EQ(read_file(out("parts") / name), read_file(out("whole") / name)) << name;
  }
}

TEST_F(Runner, ListsFailedClipsAndContinues) {
  FakeSuite suite;
  suite.broken = 3;
  EXPECT_EQ(run_suite(suite, {out("f")}), 0);
  EXPECT_EQ(suite.runs, 8) << "the other clips of both groups";
  const Json results = load_json(out("f") / "results.json");
  ASSERT_EQ(results["failed"].size(), 2u);
  EXPECT_EQ(results["failed"][1],
            Json({{"group", "two"}, {"clip", "c"}, {"reason", "clip 3 is broken"}}));
  EXPECT_EQ(results["variants"][0]["metrics"]["psnr"]["clips"], 4);
  EXPECT_THAT(read_file(out("f") / "report.html"), HasSubstr("clip 3 is broken"));
  // Pairs cover the clips that both variants have.
  fs::remove(out("f") / "parts" / "one" / "b.json");
  write_file(out("f") / "parts" / "one" / "b.failed", "lost");
  FakeSuite other;
  other.broken = 2;
  EXPECT_EQ(run_suite(other, {out("f")}), 0);
  const Json pair = load_json(out("f") / "results.json")["pairs"][0]["metrics"]["psnr"];
  EXPECT_EQ(pair["clips"], 4) << "clip b is missing in the first group only";
  EXPECT_NEAR(pair["mean_a"].get<double>() - pair["mean_b"].get<double>(),
              pair["mean"].get<double>(), 1e-12);
  // A later run measures the failed clips only.
  FakeSuite whole;
  EXPECT_EQ(run_suite(whole, {out("f")}), 0);
  EXPECT_EQ(whole.runs, 1);
  EXPECT_TRUE(load_json(out("f") / "results.json")["failed"].empty());
  FakeSuite none;
  none.broken = FakeSuite::kAll;
  EXPECT_THROW(run_suite(none, {out("n")}), Error) << "every clip fails";
}

TEST_F(Runner, WritesPartialReports) {
  FakeSuite suite;
  suite.check = [&] {
    const Json results = load_json(out("p") / "results.json");
    EXPECT_EQ(results["missing"], 9);
    EXPECT_EQ(results["variants"][0]["metrics"]["psnr"]["clips"], 1);
    EXPECT_THAT(read_file(out("p") / "report.html"), HasSubstr("Partial report: 9 results"));
  };
  EXPECT_EQ(run_suite(suite, {.out = out("p"), .report_seconds = 0}), 0);
  EXPECT_EQ(load_json(out("p") / "results.json")["missing"], 0);
}

TEST_F(Runner, WeighsClipsOrInstants) {
  FakeSuite suite;
  run_suite(suite, {out("w")});
  std::vector<PartResult> parts = read_parts(suite, out("w"));
  // The first clip has one value instead of two: 0; the others have 0.25 i and 0.25 i + 1 / 3.
  for (PartResult& part : parts) {
    for (auto& [variant, values] : part.values) {
      if (part.clip == "a/1") values["psnr"].resize(1);
    }
  }
  const double clips = (0 + (0.25 + 0.5 + 0.75 + 1) + 4. / 6) / 5;
  const double instants = (0 + 2 * (0.25 + 0.5 + 0.75 + 1) + 4. / 3) / 9;
  EXPECT_NEAR(summarise(suite, parts).variants[0].metrics.at("psnr").mean, clips, 1e-12);
  EXPECT_NEAR(summarise(suite, parts, Weight::kInstants).variants[0].metrics.at("psnr").mean,
              instants, 1e-12);
  // Medians are over all values, whatever the weight.
  const Interval middle = summarise(suite, parts).variants[0].metrics.at("middle");
  EXPECT_EQ(middle.mean, 3);
  EXPECT_LE(middle.low, middle.mean);
  EXPECT_GE(middle.high, middle.mean);
}

TEST_F(Runner, ResumesAndRejectsOtherSettings) {
  FakeSuite suite;
  suite.interrupted = 3;
  EXPECT_THROW(run_suite(suite, {out("r")}), Interrupted);
  EXPECT_EQ(suite.runs, 3);
  suite.interrupted = -1;
  EXPECT_EQ(run_suite(suite, {out("r")}), 0);
  EXPECT_EQ(suite.runs, 10);
  fs::remove(out("r") / "report.html");
  EXPECT_EQ(run_suite(suite, {out("r")}), 0);
  EXPECT_EQ(suite.runs, 10);
  EXPECT_TRUE(fs::exists(out("r") / "report.html"));
  suite.offset = 1;
  EXPECT_THROW(run_suite(suite, {out("r")}), Error);
  suite.offset = 0;
  for (const auto& entry : fs::recursive_directory_iterator(out("r") / "parts")) {
    if (entry.is_regular_file()) write_file(entry.path(), "{\"version\": 1}");
  }
  EXPECT_THROW(run_suite(suite, {out("r")}), Error);
}

TEST_F(Runner, SummarisesVariantsAndPairs) {
  FakeSuite suite;
  run_suite(suite, {out("s")});
  const Summary summary = summarise(suite, read_parts(suite, out("s")));
  ASSERT_EQ(summary.variants.size(), 3u);
  const Interval& psnr = summary.variants[0].metrics.at("psnr");
  EXPECT_NEAR(psnr.mean, 0.5 + 1. / 6, 1e-12);
  EXPECT_EQ(psnr.values, 10);
  EXPECT_EQ(psnr.clips, 5);
  EXPECT_EQ(summary.variants[0].metrics.at("error").values, 5) << "NaN values are ignored";
  EXPECT_FALSE(summary.variants[0].metrics.contains("dino"));
  ASSERT_EQ(summary.pairs.size(), 2u);
  const PairSummary& pair = summary.pairs[1];
  EXPECT_EQ(pair.b, "two, \"sparse\"");
  EXPECT_NEAR(pair.metrics.at("psnr").difference.mean, -1, 1e-12);
  EXPECT_NEAR(pair.metrics.at("psnr").difference.low, -1, 1e-12);
  EXPECT_EQ(pair.metrics.at("psnr").losses, 5);
  EXPECT_EQ(pair.metrics.at("error").wins, 5) << "lower is better";
  EXPECT_EQ(pair.metrics.at("ratio").wins, 5) << "0.9 is closer to 1 than 1.2";

  // A clip without a value on one side is ignored.
  std::vector<PartResult> parts = read_parts(suite, out("s"));
  const auto lacking = std::find_if(parts.begin(), parts.end(), [&](const PartResult& part) {
    return part.values.contains(pair.b);
  });
  ASSERT_NE(lacking, parts.end());
  lacking->values.at(pair.b).erase("psnr");
  EXPECT_EQ(summarise(suite, parts).pairs[1].metrics.at("psnr").difference.clips, 4);
}

TEST_F(Runner, WritesASelfContainedPage) {
  FakeSuite suite;
  run_suite(suite, {out("h")});
  const std::string html = read_file(out("h") / "report.html");
  EXPECT_THAT(html, HasSubstr("Fake &lt;suite&gt;"));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("data:image/jpeg;base64,/9j/"));
  EXPECT_THAT(html, HasSubstr("DINOv2: no weights."));
  EXPECT_THAT(html, HasSubstr("won 0 / 5"));
  EXPECT_THAT(html, HasSubstr("middle, median"));
  EXPECT_THAT(html, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
  // The recorded frame appears once, although both groups contain it.
  const std::string cell = "<figcaption>recording</figcaption>";
  size_t count = 0;
  for (size_t at = html.find(cell); at != std::string::npos; at = html.find(cell, at + 1)) ++count;
  EXPECT_EQ(count, 5u);
  EXPECT_THAT(read_file(out("h") / "summary.csv"), HasSubstr("\"two, \"\"sparse\"\"\",psnr,"));
  const Json results = load_json(out("h") / "results.json");
  EXPECT_EQ(results["values"]["b"]["one"]["error"], Json({0.5, nullptr}));
}

TEST(LinePlot, HandlesEmptyAndDegenerateSeries) {
  EXPECT_THAT(svg_plot({}), HasSubstr("</svg>"));
  const PlotPanel flat_panel{"flat",
                             "x",
                             {{"a", {{0, 3}, {1, 3}}}, {"b", {{0, NAN}}}, {"c", {}}},
                             /*from_zero=*/false};
  const std::string flat = svg_plot({flat_panel});
  EXPECT_THAT(flat, Not(HasSubstr("nan")));
  EXPECT_THAT(flat, Not(HasSubstr("inf")));
  // Long names wrap to further lines of the legend, which increases the height.
  PlotPanel many{"many", "x", {}};
  for (int i = 0; i < 12; ++i) many.series.push_back({"a name of some length", {{0, i}}});
  const auto height = [](const std::string& svg) {
    return std::stoi(svg.substr(svg.find("height=\"") + 8));
  };
  EXPECT_EQ(height(svg_plot({many})) - height(flat), 22 * 11);
}

TEST(PartResult, JsonRoundTripIsExact) {
  PartResult part;
  part.group = "g";
  part.clip = "c";
  part.values["v"]["m"] = {1. / 3, 1e-300, NAN, -0.1};
  part.curves["v"] = {{"t", {{0.1, 2. / 3}}}};
  const PartResult back = PartResult::from_json(Json::parse(part.to_json().dump()), "part");
  EXPECT_EQ(back.values.at("v").at("m")[0], 1. / 3);
  EXPECT_EQ(back.values.at("v").at("m")[1], 1e-300);
  EXPECT_TRUE(std::isnan(back.values.at("v").at("m")[2]));
  EXPECT_EQ(back.curves.at("v")[0].points[0].second, 2. / 3);
  EXPECT_EQ(to_base64("Man", 3), "TWFu");
  EXPECT_EQ(to_base64("Ma", 2), "TWE=");
  EXPECT_EQ(to_base64("M", 1), "TQ==");
}

}  // namespace
}  // namespace loci::eval
