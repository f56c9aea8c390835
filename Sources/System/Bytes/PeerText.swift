/// A peer's text, as it may stand in an error, a log line or on a terminal: at most 200 characters, all of them printable.
///
/// Whoever puts a peer's text into an error makes this of it first, so that a node with a key of 20 MB, or a server that sends escape
/// sequences, cannot fill logs or control a terminal.
package struct PeerText: Hashable, Sendable, CustomStringConvertible {
    /// Enough for every message of nwaku, go-waku, gorush, Apple and Google that we know.
    package static let maximumCharacterCount = 200

    package let description: String

    package init(_ text: some StringProtocol) {
        // A character can be long: `é` with a thousand accents counts once.
        var scalars = text.unicodeScalars.prefix(Self.maximumCharacterCount + 1).map(\.printable)
        if scalars.count > Self.maximumCharacterCount { scalars[Self.maximumCharacterCount] = "…" }
        description = String(String.UnicodeScalarView(scalars))
    }

    /// - Parameter bytes: Text in UTF-8. Invalid bytes become U+FFFD.
    package init(utf8 bytes: some Collection<UInt8>) {
        self.init(String(decoding: bytes.prefix(4 * (Self.maximumCharacterCount + 1)), as: UTF8.self))
    }

    package var isEmpty: Bool { description.isEmpty }
}

extension Unicode.Scalar {
    /// The scalar, or a space if it controls a terminal, ends a line or reverses its direction.
    fileprivate var printable: Unicode.Scalar {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: " "
        default: self
        }
    }
}

extension String {
    /// The line with U+FFFD in place of control characters: the last step before a terminal, whatever the line was composed of.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
    }
}
