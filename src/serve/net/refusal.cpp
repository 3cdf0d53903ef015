// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/refusal.h"

#include <exception>

#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/out_of_memory.h"
#include "loci/base/text.h"

namespace loci::serve {

ErrorReply reply_to_exception(std::string_view activity) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return {refusal.code(), refusal.what()};
  } catch (const Interrupted&) {
    return {"internal", "the server is stopping"};
  } catch (const Error& error) {
    log_error("{}: {}", activity, error.what());
    if (error.kind() == ErrorKind::kMachine) {
      return {"storage",
              "the server has not enough disk space or file descriptors for this request"};
    }
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) {
      log_error("{}: out of memory; use smaller frames, fewer --sessions, or more memory",
                activity);
      return {"memory", "the server is out of memory; use a smaller size or try again later"};
    }
    log_error("{}: {}", activity, one_line(error.what()));
  } catch (...) {
    log_error("{}: unknown exception", activity);
  }
  return {"internal", "internal error of the server; its log has the details"};
}

}  // namespace loci::serve
