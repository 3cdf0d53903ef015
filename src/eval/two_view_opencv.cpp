// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <ATen/ATen.h>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>

#include "loci/eval/two_view.h"
#include "loci/io/image.h"

namespace loci::eval {

namespace {

constexpr float kRatio = 0.75f;  // of the best match's distance to the second best's
constexpr double kConfidence = 0.999;
constexpr double kThreshold = 1.0;  // pixels from the epipolar line
constexpr int kLeastInliers = 15;
constexpr double kFarthest = 1e6;  // baselines

struct Described {
  std::vector<cv::KeyPoint> points;
  cv::Mat descriptors;
};

Described describe(cv::SIFT& sift, const at::Tensor& picture) {
  const at::Tensor image = io::checked_image(picture);
  const cv::Mat colours(static_cast<int>(image.size(0)), static_cast<int>(image.size(1)), CV_8UC3,
                        image.data_ptr());
  cv::Mat grey;
  cv::cvtColor(colours, grey, cv::COLOR_RGB2GRAY);
  Described result;
  sift.detectAndCompute(grey, cv::noArray(), result.points, result.descriptors);
  return result;
}

}  // namespace

bool two_view_available() { return true; }

std::optional<TwoView> two_view_motion(const at::Tensor& first, const at::Tensor& second,
                                       const camera::Pinhole& lens) {
  cv::setRNGSeed(1);
  const cv::Ptr<cv::SIFT> sift = cv::SIFT::create();
  const Described a = describe(*sift, first), b = describe(*sift, second);
  if (a.points.size() < 2 || b.points.size() < 2) return std::nullopt;
  std::vector<std::vector<cv::DMatch>> matches;
  cv::BFMatcher(cv::NORM_L2).knnMatch(a.descriptors, b.descriptors, matches, 2);
  std::vector<cv::Point2d> from, to;
  for (const std::vector<cv::DMatch>& match : matches) {
    if (match.size() < 2 || match[0].distance > kRatio * match[1].distance) continue;
    from.emplace_back(a.points[static_cast<size_t>(match[0].queryIdx)].pt);
    to.emplace_back(b.points[static_cast<size_t>(match[0].trainIdx)].pt);
  }
  if (std::ssize(from) < kLeastInliers) return std::nullopt;
  const cv::Matx33d matrix(lens[0], 0, lens[2], 0, lens[1], lens[3], 0, 0, 1);
  cv::Mat mask;
  const cv::Mat essential =
      cv::findEssentialMat(from, to, matrix, cv::RANSAC, kConfidence, kThreshold, mask);
  // Several solutions come stacked; none as an empty matrix.
  if (essential.rows != 3 || essential.cols != 3) return std::nullopt;
  TwoView view;
  view.inliers = cv::countNonZero(mask);
  if (view.inliers < kLeastInliers) return std::nullopt;
  cv::Mat rotation, translation;
  // Which of four solutions it is, by the points in front of both cameras. Without much translation
  // they seem far away, so no distance is too large.
  cv::recoverPose(essential, from, to, matrix, rotation, translation, kFarthest, mask);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      view.rotation(row, column) = rotation.at<double>(row, column);
    }
  }
  view.direction = {translation.at<double>(0), translation.at<double>(1),
                    translation.at<double>(2)};
  return view;
}

}  // namespace loci::eval
