"""Models of PyTorch that `benchmarks.torch_models` measures and tests compile: each by name, with its inputs.

Written here in plain `torch.nn`, in the shapes that people know: ResNet-18, MobileNet blocks, a U-Net, BERT, GPT-2, a vision
transformer, a language model of LSTM cells, a graph network. `small=True` gives the same structure in sizes for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, width: int = 64, classes: int = 1000):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        blocks, inputs = [], width
        for stage in range(4):
            outputs = width << stage
            blocks.append(ResidualBlock(inputs, outputs, 1 if stage == 0 else 2))
            blocks.append(ResidualBlock(outputs, outputs, 1))
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        x = F.adaptive_avg_pool2d(self.blocks(x), 1)
        return self.head(torch.flatten(x, 1))


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, expand: int):
        super().__init__()
        hidden = inputs * expand
        self.is_residual = stride == 1 and inputs == outputs
        self.body = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.is_residual else self.body(x)


class MobileNet(nn.Module):
    """The first blocks of MobileNet v2."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.blocks = nn.Sequential(
            InvertedResidual(width, width, 1, 1),
            InvertedResidual(width, width * 2, 2, 6),
            InvertedResidual(width * 2, width * 2, 1, 6),
            InvertedResidual(width * 2, width * 4, 2, 6),
        )
        self.head = nn.Linear(width * 4, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(F.hardswish(self.stem(x))).mean((2, 3)))


def _double(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.first, self.second = _double(3, width), _double(width, width * 2)
        self.middle = _double(width * 2, width * 4)
        self.up2 = nn.ConvTranspose2d(width * 4, width * 2, 2, 2)
        self.last2 = _double(width * 4, width * 2)
        self.last1 = _double(width * 3, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.first(x)
        b = self.second(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.last2(torch.cat([self.up2(c), b], 1))
        a = self.last1(torch.cat([F.interpolate(b, scale_factor=2.0), a], 1))
        return self.head(a)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.inputs(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        )
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal)
        return self.output(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """A transformer layer, with the norms first (GPT-2, ViT) or last (BERT)."""

    def __init__(
        self, width: int, heads: int, causal: bool = False, first: bool = True, dropout: float = 0.0
    ):
        super().__init__()
        self.first = first
        self.attention = Attention(width, heads, causal)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.first:
            x = x + self.dropout(self.attention(self.norm1(x), mask))
            return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh")))
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self, words: int, width: int, layers: int, heads: int, length: int, dropout: float = 0.0):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width, padding_idx=0), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(
            [Layer(width, heads, first=False, dropout=dropout) for _ in range(layers)]
        )
        self.head = nn.Linear(width, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places))
        allowed = mask[:, None, None, :].to(torch.bool)
        for layer in self.layers:
            x = layer(x, allowed)
        return self.head(torch.tanh(x[:, 0]))


class Gpt2(nn.Module):
    def __init__(self, words: int, width: int, layers: int, heads: int, length: int):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([Layer(width, heads, causal=True) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.words.weight.t()


class Vit(nn.Module):
    def __init__(self, size: int, patch: int, width: int, layers: int, heads: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class LstmModel(nn.Module):
    """A language model: two layers of LSTM cells over time, written out."""

    def __init__(self, words: int, width: int):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.cells = nn.ModuleList([nn.LSTMCell(width, width) for _ in range(2)])
        self.head = nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        zeros = x.new_zeros(x.shape[0], x.shape[2])
        states = [(zeros, zeros) for _ in self.cells]
        outputs = []
        for t in range(x.shape[1]):
            y = x[:, t]
            for k, cell in enumerate(self.cells):
                states[k] = cell(y, states[k])
                y = states[k][0]
            outputs.append(y)
        return self.head(torch.stack(outputs, 1))


class GraphNetwork(nn.Module):
    """Two layers of message passing: what neighbours send is added up where edges end."""

    def __init__(self, width: int):
        super().__init__()
        self.messages = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(2)])
        self.updates = nn.ModuleList([nn.GRUCell(width, width) for _ in range(2)])
        self.head = nn.Linear(width, 1)

    def forward(self, nodes: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        for message, update in zip(self.messages, self.updates, strict=True):
            sent = F.relu(message(torch.cat([nodes[sources], nodes[targets]], -1)))
            summed = torch.zeros_like(nodes).index_add(0, targets, sent)
            nodes = update(summed, nodes)
        return self.head(nodes).squeeze(-1)


class Perceptron(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Tanh()
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


Case = tuple[nn.Module, tuple[Any, ...]]


def _ids(words: int, *shape: int) -> Tensor:
    return torch.randint(1, words, shape)


def resnet18(small: bool) -> Case:
    size = 32 if small else 224
    return ResNet18(8, 10) if small else ResNet18(), (torch.randn(2 if small else 1, 3, size, size),)


def mobilenet(small: bool) -> Case:
    return MobileNet(8 if small else 32), (
        torch.randn(2 if small else 4, 3, *((32, 32) if small else (112, 112))),
    )


def unet(small: bool) -> Case:
    return UNet(8 if small else 32), (torch.randn(1, 3, *((16, 24) if small else (96, 96))),)


def bert(small: bool) -> Case:
    model, length = (Bert(100, 32, 2, 4, 16), 16) if small else (Bert(10000, 256, 4, 4, 128), 128)
    mask = torch.ones(2 if small else 4, length, dtype=torch.int64)
    mask[:, length - 3 :] = 0
    return model, (_ids(100, mask.shape[0], length), mask)


def gpt2(small: bool) -> Case:
    model, length = (Gpt2(100, 32, 2, 4, 16), 13) if small else (Gpt2(10000, 256, 4, 4, 128), 128)
    return model, (_ids(100, 2, length),)


def vit(small: bool) -> Case:
    size = 16 if small else 96
    model = Vit(16, 4, 32, 2, 4) if small else Vit(96, 8, 192, 4, 3)
    return model, (torch.randn(2, 3, size, size),)


def lstm(small: bool) -> Case:
    return LstmModel(50 if small else 2000, 16 if small else 256), (
        _ids(50, 3 if small else 16, 5 if small else 20),
    )


def graph_network(small: bool) -> Case:
    nodes, edges, width = (11, 30, 8) if small else (5000, 40000, 64)
    ends = torch.randint(0, nodes, (2, edges))
    return GraphNetwork(width), (torch.randn(nodes, width), ends[0], ends[1])


def perceptron(small: bool) -> Case:
    return Perceptron(8 if small else 512), (torch.randn(3 if small else 64, 8 if small else 512),)


MODELS: dict[str, Callable[[bool], Case]] = {
    "resnet18": resnet18,
    "mobilenet": mobilenet,
    "unet": unet,
    "bert": bert,
    "gpt2": gpt2,
    "vit": vit,
    "lstm": lstm,
    "graph_network": graph_network,
    "perceptron": perceptron,
}


def case(name: str, small: bool = False) -> Case:
    """A model with random weights and inputs for it, the same in every call."""
    torch.manual_seed(0)
    return MODELS[name](small)
