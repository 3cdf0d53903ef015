# SPDX-License-Identifier: Apache-2.0
"""Uses the delta rule kernel of the recurrent memory in PyTorch, with gradients.

Pairs of noisy keys and values are written to a state of fixed size, then read with clean keys. Two matrices
that map keys and queries are trained through the kernel.

Usage: recall.py path/to/libloci_ops.so
"""
import sys

try:
    import torch
except ImportError:
    print("torch is not installed for this Python")
    sys.exit(77)

torch.set_num_threads(1)
torch.manual_seed(0)
torch.ops.load_library(sys.argv[1])

BATCH, PAIRS, CHANNELS, VALUES = 16, 10, 32, 8


def unit(x):
    return torch.nn.functional.normalize(x, dim=-1)


map_key = torch.nn.Parameter(torch.eye(CHANNELS))
map_query = torch.nn.Parameter(torch.eye(CHANNELS))
strength = torch.nn.Parameter(torch.zeros(()))
optimizer = torch.optim.Adam([map_key, map_query, strength], lr=1e-2)
# Half of the channels contain only noise. The matrices must learn to ignore them.
carries = (torch.arange(CHANNELS) < CHANNELS // 2).float()

errors = []
for update in range(200):
    clean = torch.randn(BATCH, PAIRS, CHANNELS) * carries
    noisy = clean + 3 * torch.randn_like(clean) * (1 - carries)
    value = torch.randn(BATCH, PAIRS, VALUES)
    beta = (2 * torch.sigmoid(strength)).expand(BATCH, PAIRS)
    state = torch.ops.loci.delta_write(
        torch.zeros(BATCH, CHANNELS, VALUES), unit(noisy @ map_key), value, beta)
    read = unit(clean @ map_query) @ state
    error = (read - value).square().mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
    errors.append(error.item())

before, after = sum(errors[:10]) / 10, sum(errors[-10:]) / 10
print(f"recall error {before:.3f} before training, {after:.3f} after; "
      f"kernels: {torch.ops.loci.isa_level()}")
sys.exit(0 if after < 0.8 * before else 1)
