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
    return torch.autograd.grad((output * weights).sum(), inputs, retain_graph=True)


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
    rotated = pairs * torch.polar(torch.ones_like(angle), angle)[:, None]
    plain = torch.cat(
        [tiles.flatten(-2), torch.view_as_real(rotated).flatten(-2), x[..., 24:]], -1
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


def same_with_gradients(mine, plain, inputs, tolerance=1e-4):
    for a, b in zip(mine, plain, strict=True):
        close(a, b, tolerance)
        for x, y in zip(gradients(a, inputs), gradients(b, inputs), strict=True):
            close(x, y, tolerance)


def test_attention_over_spans():
    query, key, value = (torch.randn(2, 30, 2, 64, requires_grad=True) for _ in range(3))
    ends, seen = [10, 30], [torch.arange(10), torch.tensor([3, 1, 7, *range(10, 30)])]
    mine = ops.attention_over_spans(query, key, value, ends, seen)
    parts = []
    for begin, end, tokens in zip([0, 10], ends, seen):
        rows = (query[:, begin:end], key[:, tokens], value[:, tokens])
        parts.append(
            torch.nn.functional.scaled_dot_product_attention(
                *(x.transpose(1, 2) for x in rows)
            ).transpose(1, 2)
        )
    inputs = (query, key, value)
    plain = torch.cat(parts, 1)
    close(mine, plain)
    for a, b in zip(gradients(mine, inputs), gradients(plain, inputs)):
        close(a, b)


def test_unit_head_map():
    x = torch.randn(2, 11, 3, 32, requires_grad=True)
    rest = (0, 4, torch.randn(11, 4, 4), [], None, None)
    mapped = ops.head_map(x, *rest)
    plain = mapped * torch.rsqrt(mapped.square().sum(-1, keepdim=True) + 1e-6)
    same_with_gradients([ops.unit_head_map(x, *rest)], [plain], (x,))


def test_add_gated_head_map():
    addend, x = (torch.randn(2, 11, 3, 32, requires_grad=True) for _ in range(2))
    gate = torch.rand(2, 11, 3, requires_grad=True)
    rest = (0, 4, torch.randn(11, 4, 4), [], None, None)
    plain = addend + gate[..., None] * ops.head_map(x, *rest)
    same_with_gradients([ops.add_gated_head_map(addend, gate, x, *rest)], [plain], (addend, gate, x))


def rms(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def test_rms_norm():
    x = torch.randn(2, 9, 64, requires_grad=True)
    weight = torch.randn(64, requires_grad=True)
    same_with_gradients([ops.rms_norm(x, weight)], [rms(x, weight)], (x, weight))
    angle = torch.randn(9, 16)
    rotation = (0, 0, None, [0, 16, 1], angle.cos(), angle.sin())
    normed = rms(x, weight).unflatten(-1, (2, 32))
    same_with_gradients(
        ops.rms_norm_heads(x, weight, 1e-6, 2, *rotation),
        [normed, ops.head_map(normed, *rotation)],
        (x, weight),
    )


def test_norms_and_gates():
    x, y = (torch.randn(2, 12, 64, requires_grad=True) for _ in range(2))
    gate, scale, shift = (torch.randn(2, 3, 1, 64, requires_grad=True) for _ in range(3))
    frames = lambda z: z.unflatten(1, (3, 4))
    norm = lambda z: torch.nn.functional.layer_norm(z, (64,), eps=1e-6)
    modulated = lambda z: (frames(norm(z)) * (1 + scale) + shift).flatten(1, 2)
    same_with_gradients(
        [ops.affine_norm(x, scale, shift)], [modulated(x)], (x, scale, shift)
    )
    added = (frames(x) + gate * frames(y)).flatten(1, 2)
    same_with_gradients([ops.gated_add(x, gate, y)], [added], (x, gate, y))
    close(ops.gated_add(x, None, y), x + y)
    mine = ops.gated_add_norm(x, gate, y, scale, shift)
    close(mine[0], added)
    same_with_gradients([mine[1]], [modulated(added)], (x, gate, y, scale, shift))
    assert ops.affine_norm(x, scale, shift, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_gelu():
    x = torch.randn(5, 33, requires_grad=True)
    plain = torch.nn.functional.gelu(x, approximate="tanh")
    same_with_gradients([ops.gelu(x)], [plain], (x,))
    temporary = torch.ones(64)
    ops.gelu(temporary)
    assert temporary.eq(1).all(), "the argument was overwritten"


def test_delta_chunks():
    key = torch.nn.functional.normalize(torch.randn(1, 12, 2, 16), dim=-1).requires_grad_(True)
    query = torch.randn(1, 12, 2, 16, requires_grad=True)
    value = torch.randn(1, 12, 2, 8, requires_grad=True)
    state = torch.randn(1, 2, 16, 8, requires_grad=True)
    beta = torch.rand(1, 12, 2, requires_grad=True)
    retention = torch.rand(1, 2, 2, 16, requires_grad=True)
    inputs = (state, query, key, value, beta, retention)
    read, last = ops.delta_chunks(*inputs, [5, 12], True, 0.5)
    now, reads = state, []
    for chunk, (begin, end) in enumerate([(0, 5), (5, 12)]):
        reads.append(torch.einsum("bnhk,bhkv->bnhv", query[:, begin:end], now) * 0.5)
        now = now * retention[:, chunk, :, :, None]
        for t in range(begin, end):
            wrong = value[:, t] - torch.einsum("bhkv,bhk->bhv", now, key[:, t])
            now = now + torch.einsum("bh,bhk,bhv->bhkv", beta[:, t], key[:, t], wrong)
    same_with_gradients([last], [now], (state, key, value, beta, retention))
    plain = torch.cat(reads, 1)
    same_with_gradients([read], [plain], inputs)


def test_linear():
    x = torch.randn(2, 12, 96)
    weight, bias = torch.randn(64, 96) / 10, torch.randn(64)
    plain = torch.nn.functional.linear(x, weight, bias)
    close(ops.linear(x, weight, bias), plain)
    close(ops.linear(x, weight.bfloat16(), bias), plain, 0.01)
    residual, gate = torch.randn(2, 12, 64), torch.randn(2, 3, 1, 64)
    for name, tolerance in (("bf16", 0.01), ("int8", 0.02), ("int4", 0.2)):
        packed = torch.classes.loci.PackedLinear(weight, bias, name)
        close(packed.forward(x), plain, tolerance)
        fused = packed.forward(x, gelu=True, residual=residual, gate=gate)
        activated = torch.nn.functional.gelu(plain, approximate="tanh")
        expected = residual + (gate * activated.unflatten(1, (3, 4))).flatten(1, 2)
        close(fused, expected, tolerance)
    try:
        torch.classes.loci.PackedLinear(weight, bias, "int3")
    except RuntimeError as error:
        assert "choose one of: bf16, int8, int4" in str(error), error
    else:
        raise AssertionError("int3 was taken")


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        torch.manual_seed(0)
        test()
        print(f"{name} passed ({ops.isa_level()})")
