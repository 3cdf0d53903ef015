# SPDX-License-Identifier: Apache-2.0
"""The operators as Python sees them: values and gradients against plain PyTorch.

Usage: ops_test.py build/libloci_ops.so      exit code 77: there is no torch to test with
"""
import sys

try:
    import torch
except ImportError:
    print("torch is not installed for this Python")
    sys.exit(77)

torch.set_num_threads(1)
torch.ops.load_library(sys.argv[1])
ops = torch.ops.loci


def close(got, expected, tolerance=1e-5):
    scale = expected.abs().max().clamp_min(1e-9)
    error = ((got - expected).abs().max() / scale).item()
    assert error < tolerance, f"differs by {error:.2e} of the largest value"


def gradients(output, inputs):
    weights = torch.linspace(-1, 1, output.numel()).view_as(output)
    return torch.autograd.grad((output * weights).sum(), inputs)


def test_attention():
    shape = (2, 37, 3, 64)
    query, key, value = (torch.randn(shape, requires_grad=True) for _ in range(3))
    mine = ops.attention(query, key, value)
    plain = torch.nn.functional.scaled_dot_product_attention(
        *(x.transpose(1, 2) for x in (query, key, value))
    ).transpose(1, 2)
    close(mine, plain)
    for a, b in zip(gradients(mine, (query, key, value)), gradients(plain, (query, key, value))):
        close(a, b)
    # Two of three stored frames, in an order of their own.
    past = torch.randn(3, 2, 5, 3, 64), torch.randn(3, 2, 5, 3, 64)
    with torch.no_grad():
        mine = ops.attention(query, key, value, *past, [2, 0])
        keys = torch.cat([past[0][2], past[0][0], key], 1)
        values = torch.cat([past[1][2], past[1][0], value], 1)
        plain = torch.nn.functional.scaled_dot_product_attention(
            *(x.transpose(1, 2) for x in (query, keys, values))
        ).transpose(1, 2)
    close(mine, plain)


def test_head_map():
    x = torch.randn(2, 11, 3, 32, requires_grad=True)
    matrices = torch.randn(11, 4, 4)
    angle = torch.randn(11, 4)
    mine = ops.head_map(x, 0, 4, matrices, [16, 4, 1], angle.cos(), angle.sin())
    tiles = torch.einsum("nij,bnhtj->bnhti", matrices, x[..., :16].unflatten(-1, (4, 4)))
    pairs = torch.view_as_complex(x[..., 16:24].unflatten(-1, (4, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angle), angle)[:, None]
    plain = torch.cat(
        [tiles.flatten(-2), torch.view_as_real(turned).flatten(-2), x[..., 24:]], -1
    )
    close(mine, plain)
    close(gradients(mine, (x,))[0], gradients(plain, (x,))[0])


def test_delta_write():
    state = torch.randn(2, 8, 6, requires_grad=True)
    key = torch.nn.functional.normalize(torch.randn(2, 20, 8), dim=-1).requires_grad_(True)
    value = torch.randn(2, 20, 6, requires_grad=True)
    beta = torch.rand(2, 20, requires_grad=True)
    decay = -torch.rand(2, 20, 8)
    for log_decay in (None, decay):
        plain = state
        for t in range(20):
            if log_decay is not None:
                plain = plain * log_decay[:, t].exp()[:, :, None]
            k, v = key[:, t], value[:, t]
            wrong = v - torch.einsum("gkv,gk->gv", plain, k)
            plain = plain + beta[:, t, None, None] * k[:, :, None] * wrong[:, None, :]
        inputs = (state, key, value, beta)
        mine = (
            ops.delta_write(*inputs)
            if log_decay is None
            else ops.decayed_delta_write(*inputs, log_decay)
        )
        close(mine, plain)
        for a, b in zip(gradients(mine, inputs), gradients(plain, inputs)):
            close(a, b, 1e-4)


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        torch.manual_seed(0)
        test()
        print(f"{name} passed ({ops.isa_level()})")
