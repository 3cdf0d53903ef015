// SPDX-License-Identifier: Apache-2.0
#include "loci/train/losses/lpips_loss.h"

#include "loci/model/perceptual/lpips.h"

namespace loci::train {

LpipsLossConfig LpipsLossConfig::from_section(const ConfigReader& reader) {
  LpipsLossConfig c;
  c.weight = reader.get<double>("weight", c.weight, 0.0, 1e3);
  c.file = reader.get<std::string>("file", "");
  c.parts.number = reader.get<int64_t>("frames", c.parts.number, 0, 1000);
  c.parts.crop = reader.get<int64_t>("crop", c.parts.crop, 0, 8192);
  if (c.weight > 0 && c.file.empty()) {
    fail(
        "{}: weight needs file, the weights of LPIPS; python3 scripts/fetch_lpips.py DIR writes "
        "DIR/lpips_alex.safetensors and DIR/lpips_vgg.safetensors",
        reader.where());
  }
  if (c.parts.crop > 0 && c.parts.crop < model::Lpips::kMinSide) {
    fail("{}: crop is {}; LPIPS needs at least {} pixels, or 0 for whole frames", reader.where(),
         c.parts.crop, model::Lpips::kMinSide);
  }
  return c;
}

}  // namespace loci::train
