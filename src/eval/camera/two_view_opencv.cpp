// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>

#include "loci/eval/camera/two_view.h"
#include "loci/io/media/image.h"

namespace loci::eval {

namespace {

// A quarter of OpenCV's default, because generated frames are soft. RANSAC rejects false matches.
constexpr double kContrast = 0.01;
constexpr float kRatio = 0.75f;  // largest ratio of the distances of the best and second-best match
constexpr double kConfidence = 0.999;
constexpr double kThreshold = 1.0;  // pixels from the epipolar line
constexpr int kMinInliers = 15;
constexpr double kMaxDistance = 1e6;  // baselines
// Perspective-n-point fit: RANSAC iterations and the largest reprojection error.
constexpr int kTrials = 500;
constexpr float kPixels = 2;

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

struct Matches {
  std::vector<cv::Point2d> from, to;
};

// Matches that pass the ratio test.
Matches match(const at::Tensor& first, const at::Tensor& second) {
  Matches result;
  const cv::Ptr<cv::SIFT> sift = cv::SIFT::create(/*nfeatures=*/0, /*nOctaveLayers=*/3, kContrast);
  const Described a = describe(*sift, first), b = describe(*sift, second);
  if (a.points.size() < 2 || b.points.size() < 2) return result;
  std::vector<std::vector<cv::DMatch>> matches;
  cv::BFMatcher(cv::NORM_L2).knnMatch(a.descriptors, b.descriptors, matches, 2);
  for (const std::vector<cv::DMatch>& match : matches) {
    if (match.size() < 2 || match[0].distance > kRatio * match[1].distance) continue;
    // The origin of key points is the centre of the first pixel, that of lenses its corner.
    const cv::Point2f centre(0.5f, 0.5f);
    result.from.emplace_back(a.points[static_cast<size_t>(match[0].queryIdx)].pt + centre);
    result.to.emplace_back(b.points[static_cast<size_t>(match[0].trainIdx)].pt + centre);
  }
  return result;
}

camera::Mat3 to_matrix(const cv::Mat& values) {
  camera::Mat3 matrix;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      matrix(row, column) = values.at<double>(row, column);
    }
  }
  return matrix;
}

cv::Matx33d lens_matrix(const camera::Pinhole& lens) {
  return {lens[0], 0, lens[2], 0, lens[1], lens[3], 0, 0, 1};
}

}  // namespace

bool two_view_available() { return true; }

std::optional<TwoView> two_view_motion(const at::Tensor& first, const at::Tensor& second,
                                       const camera::Pinhole& lens) {
  cv::setRNGSeed(1);
  const auto [from, to] = match(first, second);
  if (std::ssize(from) < kMinInliers) return std::nullopt;
  const cv::Matx33d matrix = lens_matrix(lens);
  cv::Mat mask;
  const cv::Mat essential =
      cv::findEssentialMat(from, to, matrix, cv::RANSAC, kConfidence, kThreshold, mask);
  // OpenCV stacks several solutions and returns an empty matrix for none.
  if (essential.rows != 3 || essential.cols != 3) return std::nullopt;
  TwoView view;
  view.inliers = cv::countNonZero(mask);
  if (view.inliers < kMinInliers) return std::nullopt;
  cv::Mat rotation, translation;
  // Selects one of four solutions by the number of points in front of both cameras. With a small
  // translation, points appear far away, so kMaxDistance is large.
  cv::recoverPose(essential, from, to, matrix, rotation, translation, kMaxDistance, mask);
  view.rotation = to_matrix(rotation);
  view.direction = {translation.at<double>(0), translation.at<double>(1),
                    translation.at<double>(2)};
  return view;
}

std::optional<camera::Pose> metric_motion(const at::Tensor& first, const at::Tensor& depth,
                                          const at::Tensor& second, const camera::Pinhole& lens) {
  cv::setRNGSeed(1);
  const at::Tensor far = depth.to(at::kFloat).contiguous();
  const auto [from, to] = match(first, second);
  std::vector<cv::Point3d> points;
  std::vector<cv::Point2d> seen;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto row = static_cast<int64_t>(from[i].y);
    const auto column = static_cast<int64_t>(from[i].x);
    if (row < 0 || row >= far.size(0) || column < 0 || column >= far.size(1)) continue;
    const double metres = far[row][column].item<double>();
    if (!std::isfinite(metres) || metres <= 0) continue;
    const cv::Point3d ray((from[i].x - lens[2]) / lens[0], (from[i].y - lens[3]) / lens[1], 1);
    points.push_back(ray * (metres / std::sqrt(ray.dot(ray))));
    seen.emplace_back(to[i]);
  }
  if (std::ssize(points) < kMinInliers) return std::nullopt;
  cv::Mat turn, shift, inliers;
  const bool found =
      cv::solvePnPRansac(points, seen, lens_matrix(lens), cv::noArray(), turn, shift,
                         /*useExtrinsicGuess=*/false, kTrials, kPixels, kConfidence, inliers);
  if (!found || inliers.rows < kMinInliers) return std::nullopt;
  cv::Mat rotation;
  cv::Rodrigues(turn, rotation);
  const camera::Pose to_second{to_matrix(rotation),
                               {shift.at<double>(0), shift.at<double>(1), shift.at<double>(2)}};
  return to_second.inverse();
}

}  // namespace loci::eval
