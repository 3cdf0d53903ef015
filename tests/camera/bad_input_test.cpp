// SPDX-License-Identifier: Apache-2.0
// Files that every reader must reject, with a one-line message that names the place.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "loci/base/file.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/tensors/npy.h"

#include "paths.h"

namespace loci::camera {
namespace {

using ::testing::HasSubstr;

class BadInput : public ::testing::Test {
 protected:
  // The error message for a file with this content.
  std::string refused(const std::string& content, const Format* format = nullptr) {
    write_file(scratch_ / "file", content);
    return refusal([&] { load_trajectory(scratch_ / "file", {}, format); });
  }
  const Scratch scratch_;
};

TEST_F(BadInput, RejectsMissingAndEmptyFiles) {
  EXPECT_THAT(refused(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal([&] { load_trajectory(scratch_ / "missing"); }), HasSubstr("no such file"));
  EXPECT_THAT(refusal([&] { load_trajectory("/dev/null"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal([&] { load_trajectory(scratch_ / "."); }), HasSubstr("known format"));
  EXPECT_THAT(refused("hello world\n"), HasSubstr("known format (loci, re10k, colmap"));
  EXPECT_THAT(refused(std::string("\0\1\2", 3)), HasSubstr("known format"));
  EXPECT_THAT(refused("# only a comment\n"), HasSubstr("known format"));
  EXPECT_THAT(refused("{}"), HasSubstr("known format"));
  EXPECT_THAT(refused("[1, 2]"), HasSubstr("known format"));
  EXPECT_THAT(refusal([&] { find_format("tumm"); }), HasSubstr("did you mean 'tum'?"));
}

TEST_F(BadInput, EveryFormatRejectsFilesOfOtherFormats) {
  for (const Format* format : formats()) {
    for (const char* content :
         {"[]", "null", "{\"a\": 1}", "1 2 3\n", "x\n", "\x93NUMPY", "PK\3\4"}) {
      EXPECT_NE(refused(content, format), "") << format->name << ": " << content;
    }
  }
}

TEST_F(BadInput, RejectsInvalidLociJson) {
  const auto pose = [](const std::string& rows) {
    return R"({"x_fov_deg": 90, "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]], )" + rows + "]}";
  };
  EXPECT_THAT(refused(R"({"c2w": []})"), HasSubstr("no poses"));
  EXPECT_THAT(refused(R"({"c2w": 5})"), HasSubstr("list of 3x4"));
  EXPECT_THAT(refused(R"({"c2w": [[[1,0,0,0],[0,1,0,0)"), HasSubstr("file"));
  EXPECT_THAT(refused(pose("[[1,0,0,0],[0,1,0,0]]")), HasSubstr("c2w[1]: 8 numbers"));
  EXPECT_THAT(refused(pose("[[1,0,0,0],[0,1,0],[0,0,1,0]]")), HasSubstr("equally long rows"));
  EXPECT_THAT(refused(pose("[[1,0,0,0],[0,\"a\",0,0],[0,0,1,0]]")), HasSubstr("c2w[1]"));
  EXPECT_THAT(refused(pose("[[1,0,0,0],[0,2,0,0],[0,0,1,0]]")),
              HasSubstr("c2w[1]: not a rotation"));
  EXPECT_THAT(refused(pose("[[1,0,0,0],[0,-1,0,0],[0,0,1,0]]")), HasSubstr("determinant -1"));
  EXPECT_THAT(refused(pose("[[1,0,0,NaN],[0,1,0,0],[0,0,1,0]]")), HasSubstr("line 1"));
  EXPECT_THAT(refused(pose("[[1,0,0,1e999],[0,1,0,0],[0,0,1,0]]")), HasSubstr("file"));
  EXPECT_THAT(refused(R"({"x_fov_deg": [90, 80], "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]]]})"),
              HasSubstr("2 values for 1 poses"));
  EXPECT_THAT(refused(R"({"x_fov_deg": 180, "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]]]})"),
              HasSubstr("pinhole"));
  EXPECT_THAT(refused(R"({"x_fov_deg": "wide", "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]]]})"),
              HasSubstr("expected a number"));
  EXPECT_THAT(refused(R"({"xi": -1, "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]]]})"),
              HasSubstr("xi is -1"));
  EXPECT_THAT(refused(R"({"intrinsics_norm": [1,2], "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]]]})"),
              HasSubstr("[fx/W, fy/H, cx/W, cy/H]"));
  EXPECT_THAT(refused(R"({"fps": 0, "c2w": [[[1,0,0,0],[0,1,0,0],[0,0,1,0]]]})"),
              HasSubstr("positive rate"));
}

TEST_F(BadInput, RejectsInvalidTextFormats) {
  const std::string re10k = "https://example.com\n0 1 1 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0 1 0\n";
  EXPECT_THAT(refused("https://example.com\n"), HasSubstr("no poses"));
  EXPECT_THAT(refused(re10k + "40000 1 1 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0\n"),
              HasSubstr("line 3: 17 columns"));
  EXPECT_THAT(refused(re10k + "40000 1 1 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0 x 0\n"),
              HasSubstr("line 3: 'x' is not a number"));
  EXPECT_THAT(refused(re10k + "40000 1 1 .5 .5 0 0 1 0 0 nan 0 1 0 0 0 0 1 0\n"),
              HasSubstr("line 3: the position has a value that is not finite"));
  EXPECT_THAT(refused(re10k + "40000 0 1 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0 1 0\n"),
              HasSubstr("line 3: the focal lengths"));
  EXPECT_THAT(refused(re10k + "0 1 1 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0 1 0\n"),
              HasSubstr("line 3: the time does not increase"));

  EXPECT_THAT(refused("0 0 0 0 0 0 0 1\n1 0 0 0 0 0 0\n"), HasSubstr("line 2: 7 columns"));
  EXPECT_THAT(refused("0 0 0 0 0 0 0 1\n# x\n1 0 0 0 0 0 0 0.5\n"),
              HasSubstr("line 3: not a rotation: the quaternion has length 0.5"));
  EXPECT_THAT(refused("0 0 0 0 0 0 0 1\ninf 0 0 0 0 0 0 1\n"), HasSubstr("time is not finite"));
  EXPECT_THAT(refused("1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1\n"),
              HasSubstr("line 2: 11 columns"));
  EXPECT_THAT(refused("1 0 0 0 0 1 0 0 0 0 -1 0\n"), HasSubstr("line 1: not a rotation"));
  EXPECT_THAT(refused("1 0 0 0 0 1 0 0 0 0 1 1e300\n"), HasSubstr("check the unit"));
}

TEST_F(BadInput, RejectsInvalidKeyStrings) {
  EXPECT_THAT(refusal([] { read_key_string("w-12,x-3"); }), HasSubstr("unknown key in 'x'"));
  EXPECT_THAT(refusal([] { read_key_string("w-12,,a-3"); }), HasSubstr("keys-frames"));
  EXPECT_THAT(refusal([] { read_key_string("w-0"); }), HasSubstr("whole number"));
  EXPECT_THAT(refusal([] { read_key_string("w-1.5"); }), HasSubstr("whole number"));
  EXPECT_THAT(refusal([] { read_key_string("w-abc"); }), HasSubstr("whole number"));
  EXPECT_THAT(refusal([] { read_key_string("w-999999999999"); }), HasSubstr("whole number"));
  EXPECT_THAT(refusal([] { read_key_string("w-900000,s-900000"); }), HasSubstr("1,000,000 frames"));
  EXPECT_THAT(refusal([] { read_key_string("+w-3"); }), HasSubstr("unknown key"));
  EXPECT_THAT(refusal([] { read_key_string("w+-3"); }), HasSubstr("unknown key"));
  EXPECT_THAT(refusal([] { load_trajectory("w-12,y-3"); }), HasSubstr("unknown key in 'y'"));
  EXPECT_THAT(refused("w-3\nz-4\n"), HasSubstr("file: key string: unknown key"));
}

TEST_F(BadInput, RejectsInvalidColmapModels) {
  std::filesystem::create_directory(scratch_ / "m");
  const auto model = [&](const std::string& cameras, const std::string& images) {
    write_file(scratch_ / "m/cameras.txt", cameras);
    write_file(scratch_ / "m/images.txt", images);
    return refusal([&] { load_trajectory(scratch_ / "m"); });
  };
  const std::string camera = "1 PINHOLE 640 360 400 400 320 180\n";
  EXPECT_THAT(model(camera, "# nothing\n"), HasSubstr("no poses"));
  EXPECT_THAT(model(camera, "1 1 0 0 0 0 0 0 2 a.png\n\n"), HasSubstr("line 1: camera '2'"));
  EXPECT_THAT(model(camera, "1 1 0 0 0 0 0 0 1\n\n"), HasSubstr("line 1: 9 columns"));
  EXPECT_THAT(model(camera, "1 1 0 0 0 0 0 0 1 a.png\n\n2 2 0 0 0 0 0 0 1 b.png\n"),
              HasSubstr("line 3: not a rotation"));
  EXPECT_THAT(model("1 PINHOLE 640 360 400 400 320\n", "1 1 0 0 0 0 0 0 1 a.png\n"),
              HasSubstr("3 parameters for camera model PINHOLE; expected 4"));
  EXPECT_THAT(model("1 PINHOLE 640 -3 400 400 320 180\n", ""), HasSubstr("extent of '-3'"));
  EXPECT_THAT(model("1 PINHOLE 640 360 0 400 320 180\n", ""), HasSubstr("line 1: the focal lengths"));
  EXPECT_THAT(model(camera + camera, ""), HasSubstr("line 2: '1' is not a new camera"));
  EXPECT_THAT(model("x PINHOLE 640 360 1 1 1 1\n", ""), HasSubstr("line 1: 'x'"));
  std::filesystem::remove(scratch_ / "m/cameras.txt");
  EXPECT_THAT(refusal([&] { load_trajectory(scratch_ / "m"); }),
              HasSubstr("cameras.txt is missing"));
  std::filesystem::rename(scratch_ / "m/images.txt", scratch_ / "m/images.bin");
  EXPECT_THAT(refusal([&] { load_trajectory(scratch_ / "m"); }), HasSubstr("model_converter"));
}

TEST_F(BadInput, RejectsInvalidJsonOfOtherTools) {
  const std::string good = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]";
  EXPECT_THAT(refused(R"({"frames": [{"transform_matrix": )" + good + "}, {}]}"),
              HasSubstr("frame 1: 'transform_matrix' is missing"));
  EXPECT_THAT(refused(R"({"frames": [{"transform_matrix": )" + good + "}, 5]}"),
              HasSubstr("frame 1: a number; expected an object"));
  EXPECT_THAT(
      refused(R"({"fl_x": -1, "w": 4, "h": 4, "frames": [{"transform_matrix": )" + good + "}]}"),
      HasSubstr("focal lengths"));
  EXPECT_THAT(refused(R"({"w": 1e9, "h": 4, "frames": [{"transform_matrix": )" + good + "}]}"),
              HasSubstr("image of"));
  EXPECT_THAT(refused(R"({"0": {"extrinsic": )" + good + R"(}, "2": {"extrinsic": )" + good + "}}"),
              HasSubstr("entry 1: missing"));
  EXPECT_THAT(refused(R"({"0": {"extrinsic": )" + good + R"(, "K": [[1,2],[3,4]]}})"),
              HasSubstr("K must be a 3x3 matrix"));
  EXPECT_THAT(refused(R"({"0": {"extrinsic": )" + good + R"(, "K": [[1,0,0],[0,1,0],[0,0,1]]}})"),
              HasSubstr("--size"));
  const std::string vector = R"({"x": 1, "y": 2, "z": 3})";
  const std::string frame = R"({"actor_pos": )" + vector + R"(, "actor_rpy": )" + vector;
  EXPECT_THAT(refused(R"({"data": [)" + frame + "}, " + R"({"actor_pos": {"x": 1}})" + "]}"),
              HasSubstr("data[1]: 'actor_rpy' is missing"));
  EXPECT_THAT(refused(R"({"data": [)" + frame + R"(, "ws": 3}]})"), HasSubstr("ws is 3"));
  EXPECT_THAT(refused(R"({"mark_time": -4, "data": [)" + frame + "}]}"), HasSubstr("mark_time"));
  EXPECT_THAT(refused(R"({"data": [)" + frame + R"(, "camera_pos": )" + vector + "}]}"),
              HasSubstr("'camera_rpy' is missing"));
}

TEST_F(BadInput, RejectsInvalidNumpyArrays) {
  const at::Tensor eye = at::eye(4, at::kDouble).repeat({5, 1, 1});
  const auto file = scratch_ / "poses.npy";
  const auto poses = [&](const at::Tensor& array) {
    io::write_npy(file, array);
    return refusal([&] { load_trajectory(file); });
  };
  const auto lenses = [&](const at::Tensor& array) {
    io::write_npy(file, eye);
    io::write_npy(scratch_ / "intrinsics.npy", array);
    const std::string message = refusal([&] { load_trajectory(file); });
    std::filesystem::remove(scratch_ / "intrinsics.npy");
    return message;
  };
  EXPECT_THAT(poses(at::zeros({0, 4, 4})), HasSubstr("no poses"));
  EXPECT_THAT(poses(at::zeros({5, 4})), HasSubstr("shape (5, 4)"));
  EXPECT_THAT(poses(at::zeros({5, 4, 4}, at::kBool)), HasSubstr("real numbers"));
  at::Tensor broken = eye.clone();
  broken[3][0][3] = NAN;
  EXPECT_THAT(poses(broken), HasSubstr("pose 3: the position has a value that is not finite"));
  broken = eye.clone();
  broken[2][3][0] = 1;
  EXPECT_THAT(poses(broken), HasSubstr("pose 2: the last row"));
  EXPECT_THAT(lenses(at::ones({4, 4})), HasSubstr("4 lenses for 5 poses"));
  EXPECT_THAT(lenses(at::ones({5, 2})), HasSubstr("shape (5, 2)"));
  EXPECT_THAT(lenses(at::tensor({100.0, 100.0, 0.0, 50.0}, at::kDouble)), HasSubstr("--size"));
  EXPECT_THAT(lenses(at::tensor({NAN, 100.0, 50.0, 50.0}, at::kDouble)), HasSubstr("lens 0"));

  const auto npz = scratch_ / "a.npz";
  const auto archive = [&](const std::map<std::string, at::Tensor>& arrays) {
    io::write_npz(npz, arrays);
    return refusal([&] { load_trajectory(npz); });
  };
  EXPECT_THAT(archive({{"other", eye}}), HasSubstr("known format"));
  EXPECT_THAT(archive({{"c2w", eye}, {"num_frames", at::scalar_tensor(4)}}),
              HasSubstr("num_frames is 4, but there are 5 poses"));
  EXPECT_THAT(archive({{"c2w", eye}, {"fps", at::scalar_tensor(-1)}}), HasSubstr("positive rate"));
  EXPECT_THAT(archive({{"c2w", eye}, {"fps", at::ones({2})}}), HasSubstr("expected one number"));
  EXPECT_THAT(archive({{"extrinsics_c2w", eye}, {"intrinsics", at::ones({3, 4})}}),
              HasSubstr("3 lenses for 5 poses"));
  // Truncated at any position.
  io::write_npz(npz, {{"c2w", eye}});
  const std::string whole = read_file(npz);
  for (size_t size = 0; size < whole.size(); size += 97) {
    EXPECT_NE(refused(whole.substr(0, size)), "") << size;
  }
  io::write_npy(file, eye);
  const std::string array = read_file(file);
  for (size_t size = 0; size < array.size(); size += 61) {
    EXPECT_NE(refused(array.substr(0, size)), "") << size;
  }
}

}  // namespace
}  // namespace loci::camera
