"""The folder for VS Code: it starts the language server, colours what texts have, and is no part of the wheel."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from nestor.dialects.registry import load_dialect
from places import ROOT

FOLDER = ROOT / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text())
GRAMMAR = json.loads((FOLDER / "syntaxes" / "mlir.tmLanguage.json").read_text())
RULES = [
    (rule["name"], re.compile(rule["match"], re.MULTILINE)) for rule in GRAMMAR["patterns"] if "match" in rule
]

FAKES = {
    "vscode": """
        const settings = JSON.parse(process.env.SETTINGS);
        module.exports = {
          workspace: {
            getConfiguration: (section) => ({ get: (name) => settings[`${section}.${name}`] }),
            workspaceFolders: [{ uri: { fsPath: "/clone" } }],
          },
          window: { showErrorMessage: (text) => console.log(JSON.stringify({ shown: text })) },
        };
    """,
    "vscode-languageclient/node": """
        exports.LanguageClient = class {
          constructor(id, name, server, client) {
            Object.assign(this, { server, client });
          }
          async start() {
            if (process.env.FAILS) throw new Error("ENOENT");
            console.log(JSON.stringify({ started: this.server, selector: this.client.documentSelector }));
          }
          async stop() { console.log(JSON.stringify({ stopped: true })); }
        };
    """,
}
RUN = "const e = require(process.env.EXTENSION); e.activate().then(() => e.deactivate());"


def run_extension(tmp_path, settings, fails=""):
    """The lines that the fakes of VS Code print when it activates and deactivates the extension."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node (Debian: apt-get install nodejs)")
    for name, text in FAKES.items():
        file = tmp_path / "node_modules" / f"{name}.js"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    environment = {
        "NODE_PATH": str(tmp_path / "node_modules"),
        "EXTENSION": str(FOLDER / "extension.js"),
        "SETTINGS": json.dumps(settings),
        "FAILS": fails,
    }
    done = subprocess.run([node, "-e", RUN], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_starts_the_server_for_mlir_files_and_stops_it(tmp_path):
    settings = {"nestor.server.arguments": ["--load-pass-plugin=p.py"]}
    assert run_extension(tmp_path, settings) == [
        {
            "started": {"command": "opt-tool-lsp", "args": ["--load-pass-plugin=p.py"]},
            "selector": [{"language": PACKAGE["contributes"]["languages"][0]["id"]}],
        },
        {"stopped": True},
    ]


def test_a_relative_path_is_below_the_open_folder(tmp_path):
    started, _ = run_extension(tmp_path, {"nestor.server.path": ".venv/bin/opt-tool-lsp"})
    assert started["started"]["command"] == "/clone/.venv/bin/opt-tool-lsp"


def test_a_server_that_does_not_start_is_said_once(tmp_path):
    (said,) = run_extension(tmp_path, {}, fails="1")
    assert "pip install 'nestor[lsp]'" in said["shown"] and "ENOENT" in said["shown"]


def test_what_the_package_names_is_there():
    names = [PACKAGE["main"], *(one["path"] for one in PACKAGE["contributes"]["grammars"])]
    names += [one["configuration"] for one in PACKAGE["contributes"]["languages"]]
    assert all((FOLDER / name).is_file() for name in names)
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    text = (FOLDER / "extension.js").read_text()
    assert {f"nestor.{name}" for name in re.findall(r'get\("([\w.]+)"\)', text)} == settings.keys()


def scopes(line):
    """[(text, scope)] of a line: at each place the first rule that matches, as editors do it."""
    found, at = [], 0
    while at < len(line):
        matches = [(rule.search(line, at), name) for name, rule in RULES]
        there = [(match, name) for match, name in matches if match is not None]
        if not there:
            break
        match, name = min(there, key=lambda entry: entry[0].start())  # of several there the first
        found.append((match[0], name.split(".")[0]))
        at = max(match.end(), at + 1)
    return found


def test_the_parts_of_a_line_have_their_colours():
    line = "  %v = nest.load %x[%i + 1] : memref<?x8xf32> {nest.role = @f, k = #m, t = !nt.x} // why"
    assert [one for one in scopes(line) if one[1] != "keyword"] == [
        ("%v", "variable"), ("nest.load", "support"), ("%x", "variable"), ("%i", "variable"), ("1", "constant"),
        ("memref", "storage"), ("nest.role", "variable"), ("@f", "entity"), ("#m", "constant"), ("!nt.x", "entity"),
        ("// why", "comment"),
    ]  # fmt: skip
    assert scopes("// RUN: opt-tool %s") == [("// RUN: opt-tool %s", "keyword")]


@pytest.mark.parametrize("dialect", ["nt", "nest", "schedule", "arith", "func", "gpu"])
def test_every_operation_is_coloured_as_one(dialect):
    for operation in load_dialect(dialect).operations:
        assert (operation.name, "support") in scopes(f"%a = {operation.name} %b"), operation.name


def test_a_word_that_is_selected_is_a_whole_name():
    configuration = json.loads((FOLDER / "language-configuration.json").read_text())
    word = re.compile(configuration["wordPattern"])
    assert word.findall("%x.1 = nest.load @f ^bb0") == ["%x.1", "nest.load", "@f", "^bb0"]


def test_no_wheel_has_it():
    assert "editors" not in (ROOT / "setup.py").read_text()
    assert not list(FOLDER.rglob("*.py")) and not (ROOT / "editors" / "__init__.py").exists()
