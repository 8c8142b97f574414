"""The rules of the house (docs/house.md): who may import whom, no circles, facts that change nothing, small folders."""

import ast
from pathlib import Path

import pytest
from nestor.tools.docs import house
from places import ROOT

MAY_IMPORT = {
    "dialects": {"dialects"},
    "analysis": {"analysis", "dialects"},
    "lowering": {"lowering", "analysis", "dialects"},
    "transforms": {"transforms", "lowering", "analysis", "dialects"},
    "runtime": {"runtime", "lowering", "analysis", "dialects"},
    "frontend": {"frontend", "transforms", "lowering", "analysis", "dialects", "runtime"},
    "tools": {"tools", "frontend", "transforms", "lowering", "analysis", "dialects", "runtime"},
}

NEVER_IMPORT = {
    "transforms.nest": {"transforms.schedulers", "transforms.schedule"},
    "transforms.schedulers.patterns": {"transforms.schedulers.cpu", "transforms.schedulers.cuda"},
    "transforms.schedulers.cpu": {"transforms.schedulers.cuda"},
    "transforms.schedulers.cuda": {"transforms.schedulers.cpu"},
    "transforms.nest.rewrite": {
        f"transforms.nest.{room}"
        for room in ("loops", "producers", "reductions", "memory", "mapping", "cleanup", "primitive_passes")
    },
    "analysis.nest.values": {"analysis.nest.sets", "analysis.nest.kernels"},
    "analysis.nest.sets": {"analysis.nest.kernels"},
    "lowering.abi": {"dialects", "analysis", "xdsl"},
    "analysis.machine": {"analysis", "dialects"},
}
"""Rooms, and what they keep away from inside of what their package may import."""

CIRCLES: set[str] = set()
"""Packages whose modules still import each other in circles. The test fails where one is named and has none any more."""

FILES_OF_A_FOLDER = 36


def modules_of(root: Path) -> dict[str, Path]:
    """The modules of product code by their dotted names."""
    paths = [path for package in MAY_IMPORT for path in (root / package).rglob("*.py")]
    return {".".join(p.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


MODULES = modules_of(ROOT)


def imports_of(root: Path) -> dict[str, set[str]]:
    """What each module imports, wherever in it the import stands; texts that it hands to `import_module` count.

    Such a text names a module from the root or from the module's own package, and perhaps a thing in it (`a.b:c`). Tables
    of such texts count for each module that imports the table and calls `import_module`.
    """
    modules = modules_of(root)
    graph = {name: set(house.imported_modules(name, path, modules)) for name, path in modules.items()}
    for name, path in modules.items():
        if "import_module(" in path.read_text():
            tables = {name, *(graph[name] & {"dialects.schedule.table"})}
            graph[name] |= {
                one for table in tables for one in _modules_named_in(table, modules[table], modules)
            }
    return {name: targets & set(modules) - {name} for name, targets in graph.items()}


def _modules_named_in(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.partition(":")[0].lstrip(".")
            found |= {text, f"{package}.{text}"} & set(modules)
    return found


def is_in(module: str, room: str) -> bool:
    return f"{module}.".startswith(f"{room}.")


@pytest.fixture(scope="module")
def graph():
    return imports_of(ROOT)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(graph, package):
    wrong = {
        (name, target)
        for name, targets in graph.items()
        for target in targets
        if is_in(name, package) and target.partition(".")[0] not in MAY_IMPORT[package]
    }
    assert not wrong


@pytest.mark.parametrize("room", NEVER_IMPORT)
def test_rooms_keep_away_from_others(graph, room):
    inside = [name for name in graph if is_in(name, room)]
    assert inside
    wrong = {
        (name, target)
        for name in inside
        for target in graph[name] | _foreign(MODULES[name])
        if any(is_in(target, other) for other in NEVER_IMPORT[room])
    }
    assert not wrong


def _foreign(path: Path) -> set[str]:
    """The top-level packages of others that a module imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {
        node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
    }


def test_no_circles(graph):
    circles = {circle for circle in house.circles(graph).values() if len(circle) > 1}
    packages = {circle: {name.partition(".")[0] for name in circle} for circle in circles}
    assert not [sorted(circle) for circle, inside in packages.items() if not inside <= CIRCLES]
    assert set().union(*packages.values()) == CIRCLES, "take out of CIRCLES what has none any more"


FRONTEND = (
    *(
        "pytorch",
        "testing",
        "quant",
        "nn",
        "functional",
        "jit.driver",
        "jit.explain",
        "jit.chunked",
        "jit.export",
        "jit.specialise",
        "jit.disk",
        "jit.native_call",
        "jit.call",
    ),
    *(
        "script",
        "operations",
        "derivatives",
        "control",
        "numpy_api",
        "frame",
        "indexing",
        "values",
        "interface",
    ),
)
"""Rooms of the frontend: each imports only those after it."""


def test_rooms_of_the_frontend_import_those_after_them(graph):
    place = {f"frontend.{room}": k for k, room in enumerate(FRONTEND)}

    def room_of(module: str) -> str:
        return next((room for room in place if is_in(module, room)), "")

    inside = [name for name in graph if is_in(name, "frontend")]
    assert {name for name in inside if not room_of(name)} == {"frontend", "frontend.jit"}
    wrong = {
        (name, target)
        for name in inside
        for target in graph[name]
        if room_of(name) and room_of(target) and place[room_of(target)] < place[room_of(name)]
    }
    assert not wrong
    said = ast.get_docstring(ast.parse((ROOT / "frontend" / "__init__.py").read_text())) or ""
    assert ", ".join(FRONTEND).replace(".", "/") in " ".join(said.split())


def test_a_wrong_import_would_be_seen(tmp_path):
    """The check itself: imports in functions, absolute ones, and texts that name modules are found."""
    files = {
        "dialects/bad.py": "def f():\n    from ..lowering import x\n    import nestor.runtime.y\n",
        "lowering/x.py": "def f():\n    import_module('..runtime.y', __package__)\n",
        "runtime/y.py": "from ..dialects import bad\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    graph = imports_of(tmp_path)
    assert graph == {
        "dialects.bad": {"lowering.x", "runtime.y"},
        "lowering.x": {"runtime.y"},
        "runtime.y": {"dialects.bad"},
    }
    assert {len(circle) for circle in house.circles(graph).values()} == {3}


REWRITES = (
    *("erase", "detach", "add_op", "insert_op", "replace_all", "replace_by", "replace_op"),
    *("set_kind", "set_bounds", "set_access", "set_ind", "set_label"),
)
"""How the names of methods that change IR begin."""

HELD = frozenset(("attributes", "properties", "operands", "regions", "name_hint", "location"))
"""What operations and values hold: to assign it, or to it, changes IR."""


def changes_in(tree: ast.AST) -> set[int]:
    """The lines that change IR."""
    found = set()
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr.startswith(REWRITES):
            found.add(node.lineno)
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            held = node.value if isinstance(node, ast.Subscript) else node
            if isinstance(held, ast.Attribute) and held.attr in HELD:
                found.add(node.lineno)
    return found


def test_analysis_changes_no_ir():
    paths = {name: path for name, path in MODULES.items() if is_in(name, "analysis")}
    found = {name: changes_in(ast.parse(path.read_text())) for name, path in paths.items()}
    assert not {name: lines for name, lines in found.items() if lines}


def test_a_change_of_ir_would_be_seen():
    text = """op.detach()
op.attributes[k] = b
value.name_hint = n
op.operands[0] = v
del op.properties[k]
x = op.operands[0]"""
    assert changes_in(ast.parse(text)) == {1, 2, 3, 4, 5}


def test_folders_are_not_crowded():
    folders = {path.parent for path in MODULES.values()}
    counts = {str(folder.relative_to(ROOT)): len([*folder.glob("*.py")]) for folder in folders}
    assert not {folder: count for folder, count in counts.items() if count > FILES_OF_A_FOLDER}


def test_each_folder_says_what_lives_there():
    folders = {path.parent for path in MODULES.values()}
    docs = {}
    for folder in folders:
        inside = folder / "__init__.py"
        docs[folder] = ast.get_docstring(ast.parse(inside.read_text())) if inside.exists() else None
    assert not [str(folder) for folder, doc in docs.items() if not doc]


def test_no_python_files_at_the_root_but_the_package():
    """Any other would be packed into the wheel."""
    assert sorted(p.name for p in ROOT.glob("*.py")) == ["__init__.py", "setup.py"]
