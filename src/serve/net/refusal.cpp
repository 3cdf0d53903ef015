// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/refusal.h"

#include <exception>

#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/text.h"

namespace loci::serve {

Told tell_exception(std::string_view doing) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return {refusal.code(), refusal.what()};
  } catch (const Interrupted&) {
    return {"internal", "the server is going away"};
  } catch (const Error& error) {
    log_error("{}: {}", doing, error.what());
    if (error.kind() == ErrorKind::kMachine) {
      return {"storage", "the server lacks disk or memory for this"};
    }
  } catch (const std::exception& error) {
    log_error("{}: {}", doing, one_line(error.what()));
  } catch (...) {
    log_error("{}: unknown exception", doing);
  }
  return {"internal", "something went wrong in the server; its log says what"};
}

}  // namespace loci::serve
