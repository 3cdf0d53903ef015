// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_names.h"

#include <array>
#include <string_view>
#include <utility>

#include "loci/base/text.h"

namespace loci::model {

namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

// Prefixes after "encoder." or "decoder.".
constexpr std::array kParts = {Renaming{"conv1.", "conv_in."},
                               Renaming{"head.0.", "norm_out."},
                               Renaming{"head.2.", "conv_out."},
                               Renaming{"middle.0.", "mid_block.resnets.0."},
                               Renaming{"middle.1.", "mid_block.attentions.0."},
                               Renaming{"middle.2.", "mid_block.resnets.1."}};

// Prefixes after the name of a residual block.
constexpr std::array kLayers = {
    Renaming{"residual.0.", "norm1."}, Renaming{"residual.2.", "conv1."},
    Renaming{"residual.3.", "norm2."}, Renaming{"residual.6.", "conv2."},
    Renaming{"shortcut.", "conv_shortcut."}};

template <size_t N>
bool rename_start(std::string_view& text, const std::array<Renaming, N>& table, std::string& out) {
  for (const auto& [from, to] : table) {
    if (text.starts_with(from)) {
      out += to;
      text.remove_prefix(from.size());
      return true;
    }
  }
  return false;
}

// Removes and returns the text up to the next dot; the dot is removed, too.
std::string_view take_part(std::string_view& text) {
  const size_t dot = text.find('.');
  const std::string_view part = text.substr(0, dot);
  text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
  return part;
}

}  // namespace

std::string vae_name_from_wan(const std::string& name) {
  std::string_view rest = name;
  if (rest.starts_with("conv1.")) return "quant_conv." + name.substr(6);
  if (rest.starts_with("conv2.")) return "post_quant_conv." + name.substr(6);
  const bool encoder = rest.starts_with("encoder.");
  if (!encoder && !rest.starts_with("decoder.")) return name;
  std::string out(take_part(rest));
  out += '.';
  if (!rename_start(rest, kParts, out)) {
    const std::string_view list = encoder ? "downsamples" : "upsamples";
    if (take_part(rest) != list) return name;
    out += encoder ? "down_blocks." : "up_blocks.";
    out += take_part(rest);
    if (take_part(rest) != list) return name;
    const std::string_view index = take_part(rest);
    if (rest.starts_with("resample.") || rest.starts_with("time_conv.")) {
      return out + (encoder ? ".downsampler." : ".upsampler.") + std::string(rest);
    }
    out += ".resnets.";
    out += index;
    out += '.';
  }
  rename_start(rest, kLayers, out);
  return out + std::string(rest);
}

}  // namespace loci::model
