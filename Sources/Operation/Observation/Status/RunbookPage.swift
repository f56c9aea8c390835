package import Foundation

/// The packaged pages for operators with an alert, a reason or a warning, served as HTML so that the status page can link to entries.
package struct RunbookPage: Sendable {
    /// The page's path at the admin address.
    package static let path = "/runbook"
    /// The pages in the order in which they are shown.
    private static let names = ["RUNBOOK.md", "REASONS.md"]
    /// The pages' folder, relative to the program's folder: `/usr/share/doc/pushserver/docs` for `/usr/bin`.
    private static let folder = "../share/doc/pushserver/docs"

    /// A heading, and the text up to the next heading.
    private struct Entry {
        var heading: String
        var text: String

        /// The heading's anchor, as on sites that show Markdown.
        var anchor: String {
            String(heading.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
        }

        /// How many characters of the heading occur in a text, in order, or nil if some don't. An ellipsis stands for a value.
        func overlap(with text: String) -> Int? {
            var rest = text[...]
            var count = 0
            for part in heading.split(separator: "…") {
                let words = part.trimmingCharacters(in: .whitespaces)
                guard let range = rest.range(of: words) else { return nil }
                rest = rest[range.upperBound...]
                count += words.count
            }
            return count
        }
    }

    private let entries: [Entry]

    /// Reads the packaged pages, or returns nil if the program was not installed from the package.
    package init?(program: String? = Bundle.main.executablePath) {
        guard let program else { return nil }
        self.init(folder: URL(filePath: program).deletingLastPathComponent().appending(path: Self.folder))
    }

    package init?(folder: URL) {
        let pages = Self.names.compactMap { try? String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
        guard pages.count == Self.names.count else { return nil }
        entries = pages.flatMap(Self.entries)
    }

    private static func entries(of page: String) -> [Entry] {
        var entries: [Entry] = []
        var isCode = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, let heading = line.wholeMatch(of: /#{1,3} (.+)/)?.1 {
                entries.append(Entry(heading: String(heading), text: ""))
            } else if !entries.isEmpty {
                entries[entries.count - 1].text += line + "\n"
            }
        }
        return entries
    }

    /// Returns the path to the entry about a condition: the entry about its alert, or else the reason whose heading occurs in its text, or
    /// else the table of warnings.
    package func path(for condition: Condition) -> String {
        let ofAlert = condition.alert.flatMap { alert in entries.first { $0.heading == alert } }
        let ofText = entries.compactMap { entry in entry.overlap(with: condition.text).map { (entry: entry, length: $0) } }
            .max { $0.length < $1.length }?.entry
        return "\(Self.path)#\((ofAlert ?? ofText)?.anchor ?? "warnings")"
    }

    /// The page, without scripts and in the status page's style.
    package var html: String {
        let sections = entries.map { entry in
            """
            <section class="card wide" id="\(entry.anchor)"><h2>\(Self.escaped(entry.heading))</h2>\
            <pre>\(Self.escaped(entry.text))</pre></section>
            """
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Runbook - pushserver</title><style>\(StatusPage.style)</style></head><body><main>
            \(sections.joined(separator: "\n"))
            </main></body></html>
            """
    }

    private static func escaped(_ text: String) -> String {
        text.trimmingCharacters(in: .newlines).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
