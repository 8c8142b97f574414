"""The language server: what a client asks for, in the protocol's words. Answers come from `Document`."""

from __future__ import annotations

import asyncio

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec, TextDocument

from ..opt_tool.information import version
from . import lookup
from .completion import completions, describe_pass
from .document import Document, Problem

_PAUSE = 0.03
"""Seconds without an edit after which diagnostics are sent; other answers read the text at once."""

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "remark": types.DiagnosticSeverity.Information,
    "note": types.DiagnosticSeverity.Hint,
}
_COMPLETION_KINDS = {
    "operation": types.CompletionItemKind.Function,
    "dialect": types.CompletionItemKind.Module,
    "value": types.CompletionItemKind.Variable,
    "symbol": types.CompletionItemKind.Reference,
    "pass": types.CompletionItemKind.Function,
    "option": types.CompletionItemKind.Property,
    "target": types.CompletionItemKind.EnumMember,
    "choice": types.CompletionItemKind.EnumMember,
}
_SYMBOL_KINDS = {
    "schedule.sequence": types.SymbolKind.Event,
    "gpu.module": types.SymbolKind.Module,
    "module": types.SymbolKind.Module,
    "builtin.module": types.SymbolKind.Module,
    "memref.global": types.SymbolKind.Variable,
    "llvm.mlir.global": types.SymbolKind.Variable,
}


class Server(LanguageServer):
    """One client's open files."""

    def __init__(self, allow_unregistered: bool = False):
        super().__init__("opt-tool-lsp", version())
        self._allow_unregistered = allow_unregistered
        self._documents: dict[str, Document] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def document(self, uri: str) -> Document:
        """The file as it is now."""
        known = self._documents.setdefault(uri, Document(self._allow_unregistered))
        text = self._text_document(uri).source
        if known.text != text:
            known.update(text)
        return known

    def changed(self, uri: str) -> None:
        """Send diagnostics once no further edit comes."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(_PAUSE, self.publish, uri)

    def publish(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        document = self.document(uri)
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=uri,
                version=self._text_document(uri).version,
                diagnostics=[self._diagnostic(uri, document, problem) for problem in document.problems],
            )
        )

    def closed(self, uri: str) -> None:
        """Forget the file, and take back what was said of it."""
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._documents.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def offset(self, document: Document, uri: str, position: types.Position) -> int:
        line = document.lines.text_of(position.line)
        here = self._codec(uri).position_from_client_units([line], types.Position(0, position.character))
        return document.lines.offset(position.line, here.character)

    def range(self, document: Document, uri: str, start: int, end: int) -> types.Range:
        return types.Range(self._position(document, uri, start), self._position(document, uri, end))

    def _position(self, document: Document, uri: str, offset: int) -> types.Position:
        row, column = document.lines.position(offset)
        line = document.text[offset - column : offset]
        return types.Position(row, self._codec(uri).client_num_units(line))

    def _diagnostic(self, uri: str, document: Document, problem: Problem) -> types.Diagnostic:
        return types.Diagnostic(
            range=self.range(document, uri, problem.start, problem.end),
            message=problem.message,
            severity=_SEVERITIES[problem.severity],
            source="opt-tool",
            related_information=[
                types.DiagnosticRelatedInformation(
                    types.Location(uri, self.range(document, uri, note.start, note.end)), note.message
                )
                for note in problem.related
            ],
        )

    def _text_document(self, uri: str) -> TextDocument:
        return self.workspace.get_text_document(uri)

    def _codec(self, uri: str) -> PositionCodec:
        return self._text_document(uri).position_codec


def make_server(allow_unregistered: bool = False) -> Server:
    """The server with everything it answers to."""
    server = Server(allow_unregistered)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
        ls.publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
        ls.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        ls.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        document = ls.document(uri)
        found = lookup.hover(document, ls.offset(document, uri, params.position))
        if found is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(content, ls.range(document, uri, found.start, found.end))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(ls: Server, params: types.DefinitionParams) -> list[types.Location]:
        uri = params.text_document.uri
        document = ls.document(uri)
        places = lookup.definitions(document, ls.offset(document, uri, params.position))
        return [types.Location(uri, ls.range(document, uri, *place)) for place in places]

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(
            trigger_characters=[".", "%", "@", "{", ",", "-", "("], resolve_provider=True
        ),
    )
    def completion(ls: Server, params: types.CompletionParams) -> types.CompletionList:
        uri = params.text_document.uri
        document = ls.document(uri)
        offset = ls.offset(document, uri, params.position)
        items = [
            types.CompletionItem(
                label=found.text,
                kind=_COMPLETION_KINDS[found.kind],
                detail=found.detail or None,
                documentation=types.MarkupContent(types.MarkupKind.Markdown, found.documentation)
                if found.documentation
                else None,
                filter_text=found.text,
                sort_text=f"{number:05}",
                data=found.kind,
                text_edit=types.TextEdit(ls.range(document, uri, found.start, offset), found.text),
            )
            for number, found in enumerate(completions(document, offset))
        ]
        return types.CompletionList(is_incomplete=False, items=items)

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    def resolve(ls: Server, item: types.CompletionItem) -> types.CompletionItem:
        """What a pass does is looked up for the one that is looked at: its module is imported for it."""
        text = describe_pass(item.label) if item.data == "pass" else None
        if text is not None:
            item.documentation = types.MarkupContent(types.MarkupKind.Markdown, text)
        return item

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def document_symbols(ls: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        document = ls.document(uri)
        roots: list[types.DocumentSymbol] = []
        around: list[tuple[int, types.DocumentSymbol]] = []
        for symbol in document.all_symbols():
            one = types.DocumentSymbol(
                name=symbol.name,
                kind=_SYMBOL_KINDS.get(symbol.operation, types.SymbolKind.Function),
                detail=symbol.operation,
                range=ls.range(document, uri, symbol.start, symbol.end),
                selection_range=ls.range(document, uri, symbol.name_start, symbol.name_end),
                children=[],
            )
            while around and around[-1][0] <= symbol.start:
                around.pop()
            siblings = around[-1][1].children if around else roots
            assert isinstance(siblings, list)
            siblings.append(one)
            around.append((symbol.end, one))
        return roots

    return server
