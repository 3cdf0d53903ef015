// SPDX-License-Identifier: Apache-2.0
#include "tensor_testing.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "loci/base/file.h"

namespace loci::io {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string name = (fs::path(::testing::TempDir()) / "loci-io-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TempFolder::write(const std::string& name, std::string_view content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
  return path_ / name;
}

fs::path fixture(const std::string& name) { return fs::path(LOCI_TEST_DATA) / "io" / name; }

at::Tensor ramp(at::IntArrayRef shape, at::ScalarType dtype) {
  const at::Tensor i = at::arange(c10::multiply_integers(shape), at::kDouble);
  at::Tensor values = i.remainder(11) - 3;
  if (dtype == at::kBool) {
    values = i.remainder(3) == 0;
  } else if (dtype == at::kFloat8_e8m0fnu) {
    values = at::exp2(i.remainder(4));
  } else if (c10::isComplexType(dtype)) {
    values = at::complex(values, i.remainder(5));
  } else if (dtype == at::kByte || c10::isBarebonesUnsignedType(dtype)) {
    values = i.remainder(11);
  }
  if (c10::isFloatingType(dtype)) values = values.to(at::kFloat);
  return values.to(dtype).reshape(shape);
}

::testing::AssertionResult same(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.scalar_type() != expected.scalar_type()) {
    return ::testing::AssertionFailure()
           << "type " << actual.scalar_type() << ", expected " << expected.scalar_type();
  }
  if (actual.sizes() != expected.sizes()) {
    return ::testing::AssertionFailure()
           << "shape " << actual.sizes() << ", expected " << expected.sizes();
  }
  const at::Tensor a = actual.contiguous();
  const at::Tensor b = expected.contiguous();
  if (a.numel() > 0 && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) != 0) {
    return ::testing::AssertionFailure() << "the elements differ";
  }
  return ::testing::AssertionSuccess();
}

void expect_bad_input(const std::function<void()>& action, std::string_view part) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    const std::string_view message = error.what();
    EXPECT_NE(message.find(part), std::string_view::npos) << message << "\nexpected: " << part;
    EXPECT_EQ(message.find('\n'), std::string_view::npos) << message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an error of ours: " << error.what();
  }
}

void sweep_damage(const fs::path& original, const std::function<void(const fs::path&)>& action) {
  const std::string content = read_file(original);
  const TempFolder folder;
  const fs::path path = folder.write("damaged" + original.extension().string(), content);
  // Changes the file in place, because writing a new file each time would be slow.
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const std::shared_ptr<void> closer(nullptr, [file](void*) { ::close(file); });
  size_t refused = 0;
  const auto attempt = [&](size_t byte) {
    try {
      action(path);
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.kind(), ErrorKind::kBadInput) << "byte " << byte << ": " << error.what();
      ASSERT_EQ(std::strchr(error.what(), '\n'), nullptr) << error.what();
    } catch (const std::exception& error) {
      FAIL() << original << ", byte " << byte << ": not an error of ours: " << error.what();
    }
  };
  for (size_t i = 0; i < content.size(); ++i) {
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      const auto damaged =
          static_cast<unsigned char>(static_cast<unsigned char>(content[i]) ^ change);
      ASSERT_EQ(::pwrite(file, &damaged, 1, static_cast<off_t>(i)), 1);
      attempt(i);
      if (::testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(::pwrite(file, &content[i], 1, static_cast<off_t>(i)), 1);
  }
  refused = 0;
  for (size_t size = content.size(); size-- > 0;) {
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0);
    attempt(size);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(refused, content.size()) << original << ": a truncation was not detected";
}

}  // namespace loci::io
