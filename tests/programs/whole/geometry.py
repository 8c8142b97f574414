"""Geometry: hulls, polygons, rays, meshes, rotations, curves."""

import numpy as np
from whole.program import NUMPY, SIZED, Program

TOLERANCE = 1e-12
LIGHT = np.array([0.0, 0.0, 1.0])
CAMERA = {"position": np.zeros(3), "focal": 1.0}


def convex_hull(points):
    order = np.lexsort((points[:, 1], points[:, 0]))
    p = points[order]
    hull = []
    for half in range(2):
        start = len(hull)
        for q in p if half == 0 else p[::-1]:
            while len(hull) >= start + 2:
                a, b = hull[-2], hull[-1]
                if (b[0] - a[0]) * (q[1] - a[1]) - (b[1] - a[1]) * (q[0] - a[0]) > TOLERANCE:
                    break
                hull.pop()
            hull.append(q)
        hull.pop()
    return np.array(hull)


def polygon_area_and_centroid(vertices):
    following = np.roll(vertices, -1, axis=0)
    cross = vertices[:, 0] * following[:, 1] - following[:, 0] * vertices[:, 1]
    area = cross.sum() / 2
    if abs(area) < TOLERANCE:
        return 0.0, vertices.mean(axis=0)
    centroid = ((vertices + following) * cross[:, None]).sum(axis=0) / (6 * area)
    return area, centroid


def points_in_polygon(points, polygon):
    inside = np.zeros(len(points), dtype=bool)
    x, y = points.T
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        crosses = ((yi > y) != (yj > y)) & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)
        inside ^= crosses
        j = i
    return inside, points[inside]


def clip_polygon(subject, xmin, xmax):
    out = np.zeros((2 * len(subject) + 4, 2))
    work = subject
    for axis, bound, keep_greater in ((0, xmin, True), (0, xmax, False)):
        n = 0
        for i in range(len(work)):
            a, b = work[i - 1], work[i]
            a_in = (a[axis] >= bound) == keep_greater
            b_in = (b[axis] >= bound) == keep_greater
            if a_in != b_in:
                t = (bound - a[axis]) / (b[axis] - a[axis])
                out[n] = a + t * (b - a)
                n += 1
            if b_in:
                out[n] = b
                n += 1
        work = out[:n].copy()
    return work


def rotate_by_quaternions(q, points):
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(q, -1, 0)
    R = np.empty((len(q), 3, 3))
    R[:, 0] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=-1)
    R[:, 1] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=-1)
    R[:, 2] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=-1)
    return np.einsum("nij,mj->nmi", R, points), np.trace(R, axis1=1, axis2=2)


def intersect_spheres(directions, centres, radii):
    shade = np.zeros(directions.shape[:-1])
    nearest = np.full(directions.shape[:-1], np.inf)
    hit = np.full(directions.shape[:-1], -1)
    origin = CAMERA["position"]
    d = directions / np.sqrt((directions**2).sum(axis=-1, keepdims=True))
    for s, (c, r) in enumerate(zip(centres, radii)):
        oc = origin - c
        b = d @ oc
        disc = b * b - (oc @ oc - r * r)
        t = -b - np.sqrt(np.where(disc > 0, disc, np.nan))
        closer = (t > 0) & (t < nearest)
        nearest[closer] = t[closer]
        hit[closer] = s
        normal = (origin + t[..., None] * d - c) / r
        shade[closer] = np.maximum(normal @ LIGHT, 0)[closer]
    return shade, hit


def vertex_normals(vertices, faces):
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    areas = 0.5 * np.sqrt((n * n).sum(axis=1))
    out = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(out, faces[:, k], n)
    length = np.linalg.norm(out, axis=1)
    ok = length > TOLERANCE
    out[ok] /= length[ok][:, None]
    return out, areas.sum(), np.count_nonzero(~ok)


def de_casteljau(control, t):
    points = np.broadcast_to(control[:, None, :], (len(control), len(t), control.shape[1])).copy()
    for k in range(len(control) - 1, 0, -1):
        points[:k] = (1 - t)[:, None] * points[:k] + t[:, None] * points[1 : k + 1]
    return points[0], np.sqrt((np.diff(points[0], axis=0) ** 2).sum(axis=1)).sum()


def simplify_path(path, tolerance):
    n = len(path)
    keep = np.zeros(n, dtype=bool)
    keep[0] = keep[-1] = True
    stack = np.zeros((n + 1, 2), dtype=np.int64)
    stack[0] = 0, n - 1
    top = 1
    while top > 0:
        top -= 1
        lo, hi = stack[top]
        if hi - lo < 2:
            continue
        d = path[hi] - path[lo]
        between = path[lo + 1 : hi] - path[lo]
        distance = np.abs(d[0] * between[:, 1] - d[1] * between[:, 0]) / np.hypot(d[0], d[1])
        k = distance.argmax()
        if distance[k] > tolerance:
            m = lo + 1 + k
            keep[m] = True
            stack[top] = lo, m
            stack[top + 1] = m, hi
            top += 2
    return path[keep]


def closest_pair(points):
    order = np.argsort(points[:, 0])
    p = points[order]
    best = np.inf
    pair = (-1, -1)
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            if p[j, 0] - p[i, 0] >= best:
                break
            d = np.hypot(p[i, 0] - p[j, 0], p[i, 1] - p[j, 1])
            if d < best:
                best = d
                pair = (order[i], order[j])
    return best, pair


def _outside(k):
    global TOLERANCE, LIGHT
    TOLERANCE = (1e-12, 1e-9, 0.0)[k]
    LIGHT = (np.array([0.0, 0, 1]), np.array([0.0, 0.6, 0.8]), np.array([1.0, 0, 0]))[k]
    CAMERA["position"] = np.array([0.0, 0.0, -5.0 - k])


def _polygon(n):
    a = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.column_stack([np.cos(a), np.sin(a)]) * (1 + 0.3 * (np.arange(n) % 2))[:, None]


PROGRAMS = [
    Program(
        convex_hull,
        lambda r, k: (r.random(((9, 2), (20, 2), (3, 2))[k]),),
        outside=_outside,
        python="np.lexsort is NumPy's",
        host=NUMPY,
        long=True,
    ),
    Program(
        polygon_area_and_centroid,
        lambda r, k: (_polygon((5, 8, 3)[k]) * (1, 1, 0)[k] + 0.5,),
        outside=_outside,
    ),
    Program(
        points_in_polygon,
        lambda r, k: (r.random(((12, 2), (30, 2), (4, 2))[k]) * 2 - 1, _polygon((6, 8, 4)[k])),
        host=SIZED,
    ),
    Program(
        clip_polygon,
        lambda r, k: (_polygon((6, 8, 3)[k]), -0.5, (0.5, 0.3, -0.4)[k]),
        1e-11,
        host=SIZED,
    ),
    Program(
        rotate_by_quaternions,
        lambda r, k: (r.standard_normal(((3, 4), (5, 4), (1, 4))[k]), r.random(((4, 3), (2, 3), (7, 3))[k])),
        long=True,
    ),
    Program(
        intersect_spheres,
        lambda r, k: (
            np.concatenate(
                [
                    r.random(((4, 5, 2), (3, 3, 2), (1, 6, 2))[k]) - 0.5,
                    np.ones(((4, 5, 1), (3, 3, 1), (1, 6, 1))[k]),
                ],
                -1,
            ),
            r.random(((3, 3), (2, 3), (4, 3))[k]),
            r.random((3, 2, 4)[k]) + 0.5,
        ),
        1e-10,
        outside=_outside,
        long=True,
    ),
    Program(
        vertex_normals,
        lambda r, k: (
            r.random(((6, 3), (9, 3), (4, 3))[k]),
            r.integers(0, (6, 9, 4)[k], ((5, 3), (8, 3), (1, 3))[k]),
        ),
        1e-10,
        outside=_outside,
        long=True,
    ),
    Program(
        de_casteljau,
        lambda r, k: (r.random(((4, 2), (6, 3), (2, 2))[k]), np.linspace(0, 1, (7, 5, 3)[k])),
        1e-11,
    ),
    Program(
        simplify_path,
        lambda r, k: (np.cumsum(r.random(((15, 2), (25, 2), (3, 2))[k]), axis=0), (0.3, 0.2, 0.0)[k]),
        1e-11,
        host=SIZED,
        long=True,
    ),
    Program(
        closest_pair,
        lambda r, k: (r.random(((9, 2), (20, 2), (3, 2))[k]),),
        python="np.argsort is NumPy's",
        host=NUMPY,
    ),
]
