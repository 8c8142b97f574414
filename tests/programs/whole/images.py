"""Images: thresholds, labels, morphology, resizing, colours, transforms."""

import numpy as np
from whole.program import NUMPY, SIZED, Program

PALETTE = np.eye(3)
MODE = "edge"


def otsu_threshold(image):
    counts = np.zeros(256, dtype=np.int64)
    for v in image.ravel():
        counts[v] += 1
    total = image.size
    grand = np.arange(256) @ counts
    best, threshold = -1.0, 0
    weight, acc = 0, 0
    for t in range(256):
        weight += counts[t]
        if weight == 0:
            continue
        if weight == total:
            break
        acc += t * counts[t]
        m0 = acc / weight
        m1 = (grand - acc) / (total - weight)
        between = weight * (total - weight) * (m0 - m1) ** 2
        if between > best:
            best, threshold = between, t
    return threshold, image > threshold


def label_regions(mask):
    h, w = mask.shape
    labels = np.zeros((h, w), dtype=np.int32)
    current = 0
    for i in range(h):
        for j in range(w):
            if not mask[i, j] or labels[i, j]:
                continue
            current += 1
            stack = [(i, j)]
            labels[i, j] = current
            while stack:
                y, x = stack.pop()
                for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    b, a = y + dy, x + dx
                    if 0 <= b < h and 0 <= a < w and mask[b, a] and not labels[b, a]:
                        labels[b, a] = current
                        stack.append((b, a))
    return labels, current


def flood_fill(image, seed, colour):
    h, w = image.shape
    old = image[seed]
    if old == colour:
        return 0
    stack = np.empty((4 * h * w + 1, 2), dtype=np.int64)
    stack[0] = seed
    top, filled = 1, 0
    while top > 0:
        top -= 1
        y, x = stack[top]
        if y < 0 or y >= h or x < 0 or x >= w or image[y, x] != old:
            continue
        image[y, x] = colour
        filled += 1
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            stack[top] = y + dy, x + dx
            top += 1
    return filled


def erode_and_dilate(mask, radius):
    size = 2 * radius + 1
    padded = np.pad(mask, radius, constant_values=True)
    eroded = np.ones_like(mask)
    for dy in range(size):
        for dx in range(size):
            eroded &= padded[dy : dy + mask.shape[0], dx : dx + mask.shape[1]]
    padded = np.pad(eroded, radius)
    opened = np.zeros_like(mask)
    for dy in range(size):
        for dx in range(size):
            opened |= padded[dy : dy + mask.shape[0], dx : dx + mask.shape[1]]
    return eroded, opened


def resize_bilinear(image, height, width):
    h, w = image.shape[:2]
    y = np.linspace(0, h - 1, height)
    x = np.linspace(0, w - 1, width)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, h - 1)
    x1 = np.minimum(x0 + 1, w - 1)
    wy = (y - y0)[:, None, None]
    wx = (x - x0)[None, :, None]
    top = image[y0][:, x0] * (1 - wx) + image[y0][:, x1] * wx
    bottom = image[y1][:, x0] * (1 - wx) + image[y1][:, x1] * wx
    return top * (1 - wy) + bottom * wy


def rgb_to_hsv(rgb):
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    high = rgb.max(axis=-1)
    low = rgb.min(axis=-1)
    spread = high - low
    hsv = np.zeros_like(rgb)
    hsv[..., 2] = high
    some = spread > 0
    hsv[..., 1][some] = spread[some] / high[some]
    red = some & (high == r)
    green = some & (high == g) & ~red
    blue = some & ~red & ~green
    hsv[red, 0] = ((g[red] - b[red]) / spread[red]) % 6
    hsv[green, 0] = (b[green] - r[green]) / spread[green] + 2
    hsv[blue, 0] = (r[blue] - g[blue]) / spread[blue] + 4
    hsv[..., 0] /= 6
    return hsv


def quantise_to_palette(image):
    flat = image.reshape(-1, 3)
    d = ((flat[:, None, :] - PALETTE[None, :, :]) ** 2).sum(axis=2)
    nearest = d.argmin(axis=1)
    return PALETTE[nearest].reshape(image.shape), np.bincount(nearest, minlength=len(PALETTE))


def dither(image):
    out = image.astype(np.float64)
    h, w = out.shape
    for y in range(h):
        for x in range(w):
            old = out[y, x]
            new = 255.0 if old >= 128 else 0.0
            out[y, x] = new
            err = old - new
            if x + 1 < w:
                out[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    out[y + 1, x - 1] += err * 3 / 16
                out[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    out[y + 1, x + 1] += err * 1 / 16
    return out.astype(np.uint8)


def sobel_edges(image, threshold):
    p = np.pad(image.astype(float), 1, mode=MODE)
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    size = np.hypot(gx, gy)
    sector = np.round(np.arctan2(gy, gx) * 4 / np.pi) % 4
    ys, xs = np.nonzero(size > threshold * size.max())
    return sector[ys, xs], np.column_stack([xs, ys])


def integral_image_means(image, r):
    h, w = image.shape
    S = np.zeros((h + 1, w + 1))
    S[1:, 1:] = image.cumsum(axis=0).cumsum(axis=1)
    out = np.empty((h, w))
    for i in range(h):
        y0, y1 = max(i - r, 0), min(i + r + 1, h)
        for j in range(w):
            x0, x1 = max(j - r, 0), min(j + r + 1, w)
            out[i, j] = (S[y1, x1] - S[y0, x1] - S[y1, x0] + S[y0, x0]) / ((y1 - y0) * (x1 - x0))
    return out


def crop_to_content(image, border=1):
    rows = np.any(image > 0, axis=1)
    cols = np.any(image > 0, axis=0)
    if not rows.any():
        return image[:0, :0].copy()
    top, bottom = np.where(rows)[0][[0, -1]]
    left, right = np.where(cols)[0][[0, -1]]
    top, left = max(top - border, 0), max(left - border, 0)
    return image[top : bottom + 1 + border, left : right + 1 + border].copy()


def _outside(k):
    global PALETTE, MODE
    PALETTE = (np.eye(3), np.array([[0.0, 0, 0], [1, 1, 1]]), np.linspace(0, 1, 15).reshape(5, 3))[k]
    MODE = ("edge", "reflect", "constant")[k]


SHAPES = ((6, 8), (9, 5), (3, 4))


def _grey(r, k):
    return r.integers(0, 256, SHAPES[k], dtype=np.uint8)


PROGRAMS = [
    Program(otsu_threshold, lambda r, k: (_grey(r, k),)),
    Program(
        label_regions,
        lambda r, k: (r.random(SHAPES[k]) < 0.55,),
        host="kernels have no memory for a list that grows",
    ),
    Program(
        flood_fill, lambda r, k: (r.integers(0, 2, SHAPES[k]), ((2, 3), (8, 4), (0, 0))[k], (7, 1, 5)[k])
    ),
    Program(erode_and_dilate, lambda r, k: (r.random(SHAPES[k]) < 0.8, (1, 2, 1)[k]), long=True),
    Program(
        resize_bilinear, lambda r, k: (r.random((*SHAPES[k], 3)), (4, 7, 5)[k], (9, 3, 4)[k]), quick=True
    ),
    Program(rgb_to_hsv, lambda r, k: (r.integers(0, 4, (*SHAPES[k], 3)).astype(float) / 4,), long=True),
    Program(
        quantise_to_palette,
        lambda r, k: (r.random((*SHAPES[k], 3)),),
        outside=_outside,
        python="np.bincount is NumPy's",
        host=NUMPY,
    ),
    Program(dither, lambda r, k: (_grey(r, k),)),
    Program(
        sobel_edges,
        lambda r, k: (_grey(r, k), (0.5, 0.3, 0.0)[k]),
        outside=_outside,
        host=SIZED,
        long=True,
    ),
    Program(integral_image_means, lambda r, k: (r.random(SHAPES[k]), (1, 2, 9)[k]), 1e-10, quick=True),
    Program(
        crop_to_content,
        lambda r, k: (r.integers(0, 2, SHAPES[k]) * (r.random(SHAPES[k]) < (0.15, 0.2, 0.0)[k]), 1),
        host="the shape of a result depends on elements",
        refused="the result is an array of shape (0, 0) on one path",
    ),
]
