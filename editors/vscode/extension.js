// Starts opt-tool-lsp for .mlir files; all that it knows comes from there.
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** The command of the settings; a relative path is one below the folder that is open. */
function command() {
  const written = vscode.workspace.getConfiguration("nestor").get("server.path") || "opt-tool-lsp";
  const isPath = written.includes("/") || written.includes(path.sep);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  return isPath && folder !== undefined ? path.resolve(folder, written) : written;
}

async function activate() {
  const server = {
    command: command(),
    args: vscode.workspace.getConfiguration("nestor").get("server.arguments") || [],
  };
  client = new LanguageClient("nestor-mlir", "Nestor MLIR", server, {
    documentSelector: [{ language: "mlir" }],
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showErrorMessage(
      `${server.command} does not start: pip install 'nestor[lsp]', or set nestor.server.path (${error.message})`
    );
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
